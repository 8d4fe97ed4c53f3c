//! What surrounds the items of a list, collected while they pass, and parsed at the end.

use serde::Deserialize;

use super::FramingError;

/// Bytes kept of a list without its items. Real ones hold a few hundred.
const MAX_ENVELOPE: usize = 4 << 20;

/// The list without its items.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    bytes: Vec<u8>,
    has_items: bool,
}

/// What a list says besides its items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListEnd {
    /// `kind`, for example `PodList`; empty if absent.
    pub(crate) kind: String,
    /// `apiVersion`; empty if absent.
    pub(crate) api_version: String,
    /// `metadata.resourceVersion`; `None` if absent or empty.
    pub(crate) resource_version: Option<String>,
    /// `metadata.continue`; `None` if absent or empty: this was the last page.
    pub(crate) continue_token: Option<String>,
    /// `metadata.remainingItemCount`.
    pub(crate) remaining_item_count: Option<u64>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default, rename = "apiVersion")]
    api_version: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default, rename = "continue")]
    continue_token: Option<String>,
    #[serde(default)]
    remaining_item_count: Option<i64>,
}

impl Envelope {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), FramingError> {
        if self.bytes.len() + bytes.len() > MAX_ENVELOPE {
            return Err(FramingError::TooLarge {
                limit: MAX_ENVELOPE,
            });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether the key `items` was met; marks it so.
    pub(super) fn meet_items(&mut self) -> bool {
        std::mem::replace(&mut self.has_items, true)
    }

    /// # Errors
    /// If it does not parse, or is no list.
    pub(super) fn parse(&mut self) -> Result<ListEnd, FramingError> {
        let head: Head = serde_json::from_slice(&self.bytes).map_err(FramingError::Envelope)?;
        let kind = head.kind.unwrap_or_default();
        // A list without `items` has none; anything else without them is no list.
        let list = match kind.as_str() {
            "Status" | "Table" => false,
            _ if self.has_items => true,
            kind => kind.is_empty() || kind.ends_with("List"),
        };
        if !list {
            return Err(FramingError::NotAList {
                kind,
                body: std::mem::take(&mut self.bytes),
            });
        }
        let metadata = head.metadata.unwrap_or_default();
        Ok(ListEnd {
            kind,
            api_version: head.api_version.unwrap_or_default(),
            resource_version: non_empty(metadata.resource_version),
            continue_token: non_empty(metadata.continue_token),
            remaining_item_count: metadata
                .remaining_item_count
                .and_then(|count| count.try_into().ok()),
        })
    }
}

/// Absent and empty are the same on the wire.
fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
