//! [`Server`]: the API server's address, taken apart.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::Uri;
use http::uri::{Authority, Scheme};

use super::ConfigError;

/// Scheme, host, port and base path of an API server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Server {
    https: bool,
    /// Without brackets.
    host: String,
    port: u16,
    /// Host and port as they stand in the URL: what `Host` must say.
    authority: Authority,
    /// Empty, or starts with a slash and does not end with one.
    base_path: String,
}

impl Server {
    /// Parses a URL; `default_scheme` is for one that has none (`host:port`).
    pub(crate) fn parse(url: &str, default_scheme: &str) -> Result<Self, ConfigError> {
        let invalid = |problem: &str| ConfigError::new("server", problem);
        let url = url.trim();
        let full = if url.contains("://") {
            url.to_owned()
        } else {
            format!("{default_scheme}://{url}")
        };
        let uri: Uri = full
            .parse()
            .map_err(|error| invalid("is not a URL").with_source(error))?;
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(invalid("should begin with https:// or http://")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid(
                "holds credentials; put them into username and password",
            ));
        }
        if uri.query().is_some() {
            return Err(invalid("should have no query"));
        }
        let host = authority.host();
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() {
            return Err(invalid("names no host"));
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().ends_with(':') => return Err(invalid("has an empty port")),
            None if authority.as_str().len() != authority.host().len() => {
                return Err(invalid("has a port that is not a number below 65536"));
            }
            None if https => 443,
            None => 80,
        };
        Ok(Self {
            https,
            host: host.to_owned(),
            port,
            authority: authority.clone(),
            base_path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// A server by host (an IPv6 address needs no brackets) and port.
    pub(crate) fn https(host: &str, port: &str) -> Result<Self, ConfigError> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<Ipv6Addr>() {
            Ok(_) => Self::parse(&format!("https://[{bare}]:{port}"), "https"),
            Err(_) => Self::parse(&format!("https://{host}:{port}"), "https"),
        }
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.ip().is_some_and(|address| address.is_loopback())
    }

    /// The host, without brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What the header `Host` must say.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Host and port, brackets included, the port always there.
    pub(crate) fn host_and_port(&self) -> String {
        format!("{}:{}", self.authority.host(), self.port)
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }

    pub(crate) fn base_path(&self) -> &str {
        &self.base_path
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}://{}{}",
            self.scheme(),
            self.authority,
            self.base_path
        )
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
