//! States and errors in words.

use informers_reflector::{ReflectorPhase, ReflectorState};

/// What a reflector is doing, in a few words.
pub(crate) fn doing(state: &ReflectorState) -> String {
    let doing = match state.phase {
        ReflectorPhase::Idle => "not started",
        ReflectorPhase::Listing => "listing",
        ReflectorPhase::InitialEvents => "receiving initial events",
        ReflectorPhase::Connecting => "opening a watch",
        ReflectorPhase::Watching => "watching",
        ReflectorPhase::Waiting => "waiting before the next attempt",
        ReflectorPhase::Stopped => "stopped",
    };
    match state.since {
        Some(since) => format!("{doing} for {:.1} s", since.elapsed().as_secs_f64()),
        None => doing.to_owned(),
    }
}

/// An error and its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
