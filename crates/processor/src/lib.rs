//! Fan-out of informer notifications to event handlers.
