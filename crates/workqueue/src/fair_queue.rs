//! Order that is fair between tenants: round robin across groups of items.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::Hash;

use hashbrown::HashMap;

use crate::order::{Queue, Rank};
use crate::shrink::{shrink_map, shrink_ring};

/// Serves tenants in turn: one item of each tenant that has any, then the next round.
///
/// The tenant of an item is whatever the key function says: its namespace, its owner,
/// the cluster it came from. A tenant with ten thousand waiting items delays another
/// tenant's first item by one item, not by ten thousand. Within a tenant items are
/// ordered as in [`PriorityQueue`](crate::PriorityQueue): by priority, then by arrival;
/// priorities do not reach across tenants.
///
/// # Contract
///
/// The key function is called under the queue's lock: it must be quick, must not call
/// the queue, and must give equal items equal keys.
///
/// # Memory
///
/// One entry for each tenant that has items in line; a tenant whose line is empty is
/// forgotten.
///
/// # Upstream
///
/// None; client-go has only the hook.
pub struct FairQueue<T, K> {
    tenant_of: Box<dyn Fn(&T) -> K + Send>,
    lines: HashMap<K, BTreeMap<Rank, T>>,
    /// The tenants that have a line, the next to be served in front.
    turns: VecDeque<K>,
    len: usize,
}

impl<T, K: Clone + Eq + Hash> FairQueue<T, K> {
    /// An empty line whose items belong to the tenant that `tenant_of` names.
    pub fn new(tenant_of: impl Fn(&T) -> K + Send + 'static) -> Self {
        Self {
            tenant_of: Box::new(tenant_of),
            lines: HashMap::new(),
            turns: VecDeque::new(),
            len: 0,
        }
    }

    /// How many tenants have items in line.
    pub fn tenants(&self) -> usize {
        self.turns.len()
    }
}

impl<T, K> fmt::Debug for FairQueue<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairQueue")
            .field("len", &self.len)
            .field("tenants", &self.turns.len())
            .finish_non_exhaustive()
    }
}

impl<T: Send, K: Clone + Eq + Hash + Send> Queue<T> for FairQueue<T, K> {
    fn push(&mut self, item: T, rank: Rank) {
        let tenant = (self.tenant_of)(&item);
        if let Some(line) = self.lines.get_mut(&tenant) {
            line.insert(rank, item);
        } else {
            self.turns.push_back(tenant.clone());
            self.lines.insert(tenant, BTreeMap::from([(rank, item)]));
        }
        self.len += 1;
    }

    fn touch(&mut self, item: &T, from: Rank, to: Rank) {
        if from == to {
            return;
        }
        let tenant = (self.tenant_of)(item);
        if let Some(line) = self.lines.get_mut(&tenant)
            && let Some(item) = line.remove(&from)
        {
            line.insert(to, item);
        }
    }

    fn pop(&mut self) -> Option<T> {
        let tenant = self.turns.pop_front()?;
        let line = self.lines.get_mut(&tenant)?;
        let item = line.pop_first().map(|(_, item)| item)?;
        self.len -= 1;
        if line.is_empty() {
            self.lines.remove(&tenant);
            shrink_map(&mut self.lines);
            shrink_ring(&mut self.turns);
        } else {
            self.turns.push_back(tenant);
        }
        Some(item)
    }

    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests;
