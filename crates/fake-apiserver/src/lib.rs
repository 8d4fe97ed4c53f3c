//! A Kubernetes API server in process, for tests and demos.
