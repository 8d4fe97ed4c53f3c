//! The list-and-watch state machine of a Kubernetes informer.
