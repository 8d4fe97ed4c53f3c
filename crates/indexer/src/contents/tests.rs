//! What always holds for the contents of a store.

use super::Contents;

impl<T> Contents<T> {
    /// Checks the invariants, those of the indices too.
    pub(crate) fn assert_invariants(&self) {
        let mut len = 0;
        for (slot, entry) in self.slab.iter() {
            let key = entry.name.as_str();
            assert_eq!(self.find(self.hash(key), key), Some(slot), "{key}");
            let namespace = entry.name.namespace().unwrap_or_default();
            assert!(self.in_namespace(namespace).contains(&slot), "{key}");
            len += 1;
        }
        assert_eq!(self.slab.len(), len);
        self.namespaces.assert_invariants(&self.hasher);
        for named in &self.indices {
            named.index.assert_invariants(&self.hasher);
        }
    }
}
