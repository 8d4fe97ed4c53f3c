//! [`Impersonation`]: acting as somebody else.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::ConfigError;

/// Whom to act as; nobody by default.
///
/// # Upstream
/// `rest.ImpersonationConfig`.
#[doc(alias = "ImpersonationConfig")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The user; empty for nobody.
    pub user: String,
    /// Its uid; may be empty.
    pub uid: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// Whatever else an authorizer may look at, by name.
    pub extra: Vec<(String, Vec<String>)>,
}

impl Impersonation {
    /// Acts as that user, in none but its own groups.
    pub fn user(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            ..Self::default()
        }
    }

    /// Whether it can be asked for: everything else needs a user.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let without_user = self.user.is_empty()
            && !(self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty());
        if without_user {
            return Err(ConfigError::new(
                "",
                "is not set, but a uid, groups or extra values to act as are",
            ));
        }
        Ok(())
    }

    /// The headers that ask for it.
    pub(crate) fn headers(&self) -> Result<HeaderMap, ConfigError> {
        self.check().map_err(|error| error.within("as"))?;
        let mut headers = HeaderMap::new();
        if self.user.is_empty() {
            return Ok(headers);
        }
        let mut add = |name: HeaderName, field: &str, text: &str| match HeaderValue::from_str(text)
        {
            Ok(value) => {
                headers.append(name, value);
                Ok(())
            }
            Err(error) => {
                Err(ConfigError::new(field, "cannot stand in a header").with_source(error))
            }
        };
        add(
            HeaderName::from_static("impersonate-user"),
            "as",
            &self.user,
        )?;
        if !self.uid.is_empty() {
            add(
                HeaderName::from_static("impersonate-uid"),
                "as-uid",
                &self.uid,
            )?;
        }
        for group in &self.groups {
            add(
                HeaderName::from_static("impersonate-group"),
                "as-groups",
                group,
            )?;
        }
        for (key, values) in &self.extra {
            let name = format!("impersonate-extra-{}", escape(key));
            let name = HeaderName::try_from(name)
                .map_err(|error| ConfigError::new("as-user-extra", "bad key").with_source(error))?;
            for value in values {
                add(name.clone(), "as-user-extra", value)?;
            }
        }
        Ok(headers)
    }
}

/// Percent-encodes what may not stand in a header's name; the server decodes it.
fn escape(key: &str) -> String {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            escaped.push(HEX[usize::from(byte >> 4)]);
            escaped.push(HEX[usize::from(byte & 15)]);
        }
    }
    escaped
}
