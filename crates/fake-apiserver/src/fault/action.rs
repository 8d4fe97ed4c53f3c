//! What a fault does, in the form it has in JSON.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::request::{RequestRecord, Verb};
use crate::status::customary;

/// What happens. The tag `fault` names it in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "fault",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(crate) enum Action {
    /// Answer with a failure.
    Status(StatusFault),
    /// Answer with this body.
    Body {
        code: u16,
        #[serde(default = "json_media_type")]
        content_type: String,
        #[serde(default)]
        body: String,
    },
    /// End the watch with an ERROR event.
    ErrorEvent(StatusFault),
    /// Send bytes within the stream.
    Raw {
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        data: Vec<u8>,
    },
    /// Close the connection within the body.
    Cut {
        #[serde(default)]
        after_bytes: u64,
        #[serde(default)]
        how: Cut,
    },
    /// Fall silent within the body.
    Stall {
        #[serde(default)]
        after_bytes: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    },
    /// Send no headers.
    Hang {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    },
    /// Answer later.
    Delay { seconds: f64 },
    /// Lose watch events.
    DropEvents {
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        event: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<String>,
    },
    /// Forget the history.
    Compact,
    /// Take the revision back.
    Rollback { revision: u64 },
    /// Ask the client to use another connection.
    #[serde(rename = "goaway")]
    GoAway,
    /// RST.
    Reset,
    /// Neither read nor write any more.
    BlackHole,
    /// Write slowly.
    SlowWriter { bytes_per_second: u64 },
    /// Read slowly.
    SlowReader { bytes_per_second: u64 },
    /// Answer from an older revision.
    ReplicaLag { revisions: u64 },
    /// 410 for a later page.
    ExpiredContinue {
        #[serde(default)]
        inconsistent: bool,
    },
    /// 504 with the cause `ResourceVersionTooLarge`.
    TooLargeResourceVersion,
    /// No end of the initial events.
    WatchListWithoutEnd,
    /// Compress the answer.
    Gzip,
}

/// How a connection is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Cut {
    /// FIN between chunks.
    #[default]
    Fin,
    /// RST.
    Rst,
    /// FIN in the middle of a chunk.
    MidChunk,
}

/// A failure to answer with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusFault {
    pub(crate) code: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<u64>,
    /// In place of the `Status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) object: Option<Value>,
}

impl StatusFault {
    /// The object that is sent.
    pub(crate) fn to_object(&self) -> Value {
        if let Some(object) = &self.object {
            return object.clone();
        }
        let (reason, message) = customary(self.code);
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message.as_deref().unwrap_or(message),
            "reason": self.reason.as_deref().unwrap_or(reason),
            "code": self.code,
        });
        if let Some(seconds) = self.retry_after {
            status["details"] = json!({"retryAfterSeconds": seconds});
        }
        status
    }
}

impl Action {
    /// What is lost are events, not requests.
    pub(crate) fn is_event_loss(&self) -> bool {
        matches!(self, Self::DropEvents { .. })
    }

    /// Decides how the request ends. Of several such faults the first meets the request and the
    /// others wait for the next one.
    pub(crate) fn is_outcome(&self) -> bool {
        match self {
            Self::Status(_)
            | Self::Body { .. }
            | Self::ErrorEvent(_)
            | Self::Cut { .. }
            | Self::Stall { .. }
            | Self::Hang { .. }
            | Self::Reset
            | Self::BlackHole
            | Self::ExpiredContinue { .. }
            | Self::TooLargeResourceVersion => true,
            Self::Raw { .. }
            | Self::Delay { .. }
            | Self::DropEvents { .. }
            | Self::Compact
            | Self::Rollback { .. }
            | Self::GoAway
            | Self::SlowWriter { .. }
            | Self::SlowReader { .. }
            | Self::ReplicaLag { .. }
            | Self::WatchListWithoutEnd
            | Self::Gzip => false,
        }
    }

    /// Whether the request is one this can happen to.
    pub(crate) fn fits(&self, request: &RequestRecord) -> bool {
        match self {
            Self::ErrorEvent(_) | Self::Raw { .. } => request.is_watch(),
            Self::WatchListWithoutEnd => request.verb == Verb::WatchList,
            Self::ExpiredContinue { .. } => request
                .param("continue")
                .is_some_and(|token| !token.is_empty()),
            _ => true,
        }
    }

    /// Happens once where nothing else is said.
    pub(crate) fn is_state_change(&self) -> bool {
        matches!(self, Self::Compact | Self::Rollback { .. })
    }

    /// Can strike a watch that is open already.
    pub(crate) fn strikes_streams(&self) -> bool {
        matches!(
            self,
            Self::ErrorEvent(_)
                | Self::Raw { .. }
                | Self::Cut { .. }
                | Self::Stall { .. }
                | Self::GoAway
                | Self::Reset
                | Self::BlackHole
        )
    }
}

/// Seconds as a duration; what cannot be one (negative, not finite) is no time at all.
pub(crate) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn json_media_type() -> String {
    "application/json".to_owned()
}

fn as_text<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(data))
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    Ok(Cow::<str>::deserialize(deserializer)?
        .into_owned()
        .into_bytes())
}
