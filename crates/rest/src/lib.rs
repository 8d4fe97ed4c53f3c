//! Kubernetes client configuration, credentials and HTTP transport for informers.
