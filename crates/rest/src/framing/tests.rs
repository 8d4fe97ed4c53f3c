//! The splitters against whole-body parses, and bodies seen in the field.

mod bodies;
mod events;
mod lists;
