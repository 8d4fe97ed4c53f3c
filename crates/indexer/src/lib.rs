//! Indexed in-memory object store and listers of a Kubernetes informer.
