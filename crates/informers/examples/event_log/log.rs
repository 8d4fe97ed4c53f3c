//! The lines on standard output.

use std::error::Error;
use std::io::{Stdout, Write};
use std::sync::Arc;

use informers::{Deleted, EventHandler, Object, ObjectName};
use serde_json::{Value, json};

/// Writes lines, each flushed, whole, and in the order of the calls.
#[derive(Debug, Clone)]
pub(crate) struct Log(Arc<Stdout>);

impl Log {
    pub(crate) fn new() -> Self {
        Self(Arc::new(std::io::stdout()))
    }

    pub(crate) fn line(&self, value: &Value) {
        let mut text = value.to_string();
        text.push('\n');
        let mut out = self.0.lock();
        // Nobody reads any more: there is nobody to tell.
        if out
            .write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            std::process::exit(0);
        }
    }

    pub(crate) fn error(&self, code: Option<u16>, reason: Option<&str>, message: &str) {
        self.line(&json!({"op": "error", "code": code, "reason": reason, "message": message}));
    }
}

/// An error and its causes, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl<T: Object> EventHandler<T> for Log {
    fn on_add(&mut self, obj: &Arc<T>, is_in_initial_list: bool) {
        self.line(&json!({
            "op": "add", "key": key(&**obj), "rv": rv(&**obj), "initial": is_in_initial_list,
        }));
    }

    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>) {
        self.line(&json!({
            "op": "update", "key": key(&**new), "old_rv": rv(&**old), "rv": rv(&**new),
        }));
    }

    fn on_delete(&mut self, deleted: &Deleted<T>) {
        let last = deleted.last_known.as_deref();
        self.line(&json!({
            "op": "delete", "key": deleted.name.as_str(), "rv": last.map_or("", rv),
            "final_state_unknown": deleted.is_final_state_unknown(),
        }));
    }
}

fn key<T: Object>(obj: &T) -> String {
    ObjectName::of(obj).to_string()
}

pub(crate) fn rv<T: Object>(obj: &T) -> &str {
    obj.resource_version().unwrap_or_default()
}
