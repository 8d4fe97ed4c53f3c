//! Delta queues and the traits between the stages of a Kubernetes informer.
