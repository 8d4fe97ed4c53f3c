//! Informers together: start, wait, stop, and what happens when it is done twice, too
//! early, too late or at once.

mod lifecycle;
mod stop;
mod trouble;
