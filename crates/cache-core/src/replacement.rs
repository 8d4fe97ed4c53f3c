//! [`Replacement`]: a relist on its way into the queue, item by item.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::object::same_version;
use crate::{Change, KnownObjects, Object, ObjectName, ResourceVersion, Transform, Undecodable};

/// One item of a list: an object, or the report that it does not decode.
pub enum ListItem<T> {
    /// A decoded object.
    Object(T),
    /// An object that is there, but does not decode. It counts as present.
    Undecodable(Box<Undecodable>),
}

impl<T> fmt::Debug for ListItem<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(_) => f.write_str("Object"),
            Self::Undecodable(undecodable) => undecodable.fmt(f),
        }
    }
}

/// One item of a [`Replacement`] as a queue takes it.
pub(crate) enum ReplacementItem<T> {
    Object(ObjectName, Arc<T>),
    Undecodable(Arc<Undecodable>),
}

/// The items of a list, collected page by page, before they replace all at once what
/// the queue and the store know. Dropping it changes nothing.
///
/// The transform runs as items arrive. An item that is the very version the store
/// already holds is exchanged for the stored one at once, so that a relist of
/// unchanged objects needs no second copy of them.
///
/// # Memory
/// One pointer and one key per item, and the items that are new.
pub struct Replacement<T> {
    /// `None` where an initial event was taken back.
    items: Vec<Option<ReplacementItem<T>>>,
    /// Where each of the first `indexed` items stands; filled when first needed.
    places: HashMap<ObjectName, usize>,
    indexed: usize,
    namespace: Option<Arc<str>>,
    transform: Option<Transform<T>>,
    known: Option<Arc<dyn KnownObjects<T>>>,
}

impl<T: Object> Replacement<T> {
    /// An empty one. Usually made by [`ReflectorStore::begin_replace`].
    ///
    /// [`ReflectorStore::begin_replace`]: crate::ReflectorStore::begin_replace
    pub fn new(transform: Option<Transform<T>>, known: Option<Arc<dyn KnownObjects<T>>>) -> Self {
        Self {
            items: Vec::new(),
            places: HashMap::new(),
            indexed: 0,
            namespace: None,
            transform,
            known,
        }
    }

    /// Makes this the truth about one namespace only: what is known of others stays.
    #[must_use]
    pub fn in_namespace(mut self, namespace: Option<Arc<str>>) -> Self {
        self.namespace = namespace;
        self
    }

    /// The namespace that the list is about; `None`: everything.
    pub fn namespace(&self) -> Option<&Arc<str>> {
        self.namespace.as_ref()
    }

    /// The items, in list order.
    pub(crate) fn into_items(self) -> impl Iterator<Item = ReplacementItem<T>> {
        self.items.into_iter().flatten()
    }

    /// Appends an item.
    ///
    /// # Errors
    /// If the item does not decode, or the transform refuses it: a report for the
    /// watch error handler. The item is part of the list all the same, as present
    /// and undecodable.
    pub fn push(&mut self, item: ListItem<T>) -> Result<(), Arc<Undecodable>> {
        let undecodable = match item {
            ListItem::Object(obj) => {
                let name = ObjectName::of(&obj);
                let known = self.known.as_ref().and_then(|known| known.known(&name));
                let entered = match known {
                    Some(known) if same_version(&*known, &obj) => Ok(known),
                    _ => enter(obj, self.transform.as_ref()),
                };
                match entered {
                    Ok(obj) => {
                        self.items.push(Some(ReplacementItem::Object(name, obj)));
                        return Ok(());
                    }
                    Err(undecodable) => undecodable,
                }
            }
            ListItem::Undecodable(undecodable) => *undecodable,
        };
        let undecodable = Arc::new(undecodable);
        let item = ReplacementItem::Undecodable(Arc::clone(&undecodable));
        self.items.push(Some(item));
        Err(undecodable)
    }

    /// How many items there are so far, undecodable ones included.
    pub fn len(&self) -> usize {
        self.items.iter().flatten().count()
    }

    /// Whether there is no item yet.
    pub fn is_empty(&self) -> bool {
        self.items.iter().flatten().next().is_none()
    }

    /// The decoded objects so far, in list order.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<T>> {
        self.items.iter().flatten().filter_map(|item| match item {
            ReplacementItem::Object(_, obj) => Some(obj),
            ReplacementItem::Undecodable(_) => None,
        })
    }

    /// Applies one change of a stream of initial events to the collected list, which
    /// stays in the server's order.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    ///
    /// # Upstream
    /// The temporary store of a WatchList.
    pub fn apply(&mut self, change: Change<T>) -> Result<(), Arc<Undecodable>> {
        let (name, item) = match change {
            // All but every initial event: nothing earlier can bear the name.
            Change::Added(obj) => return self.push(ListItem::Object(obj)),
            Change::Bookmark(_) => return Ok(()),
            Change::Updated(obj) => (ObjectName::of(&obj), Some(ListItem::Object(obj))),
            Change::Deleted { name, .. } => (name, None),
            Change::Undecodable(undecodable) => (
                undecodable.name.clone(),
                Some(ListItem::Undecodable(undecodable)),
            ),
        };
        let place = self.place_of(&name);
        let Some(item) = item else {
            if let Some(place) = place {
                self.items[place] = None;
            }
            return Ok(());
        };
        let pushed = self.push(item);
        if let Some(place) = place {
            // What was pushed just now takes the place of its earlier version.
            self.items.swap_remove(place);
        }
        pushed
    }

    /// Where the item of that name stands, if it is there.
    fn place_of(&mut self, name: &ObjectName) -> Option<usize> {
        for place in self.indexed..self.items.len() {
            if let Some(item) = &self.items[place] {
                self.places.insert(item.name().clone(), place);
            }
        }
        self.indexed = self.items.len();
        let place = *self.places.get(name)?;
        self.items[place].is_some().then_some(place)
    }
}

impl<T> ReplacementItem<T> {
    fn name(&self) -> &ObjectName {
        match self {
            Self::Object(name, _) => name,
            Self::Undecodable(undecodable) => &undecodable.name,
        }
    }
}

/// Runs the transform and shares the object.
pub(crate) fn enter<T: Object>(
    obj: T,
    transform: Option<&Transform<T>>,
) -> Result<Arc<T>, Undecodable> {
    let Some(transform) = transform else {
        return Ok(Arc::new(obj));
    };
    let name = ObjectName::of(&obj);
    let uid = obj.uid().map(str::to_owned);
    let resource_version = obj.resource_version().and_then(ResourceVersion::new);
    match transform.apply(obj) {
        Ok(obj) => Ok(Arc::new(obj)),
        Err(error) => Err(Undecodable {
            name,
            uid,
            resource_version,
            path: String::new(),
            message: format!("refused by the transform: {error}"),
        }),
    }
}

impl<T> fmt::Debug for Replacement<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replacement")
            .field("items", &self.items.len())
            .finish_non_exhaustive()
    }
}
