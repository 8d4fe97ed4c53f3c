//! Which way to the API server: directly, or through a proxy.

use std::fmt;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::config::{ConfigError, Environment, Server};

/// Which proxy to go through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyChoice {
    /// What `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say (upper or lower case), except
    /// for loopback addresses, which are always reached directly.
    #[default]
    FromEnvironment,
    /// None.
    Direct,
    /// This one, for every address.
    Proxy(Proxy),
}

/// A proxy. `Debug` shows its address and not its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(crate) kind: ProxyKind,
    /// Scheme, host, port.
    pub(crate) uri: Uri,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) user: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    Http,
    Https,
    Socks5,
}

impl Proxy {
    /// A proxy by its URL: `http://user:password@host:port`, `https://…` or
    /// `socks5://…`; a proxy resolves the server's name itself.
    ///
    /// # Errors
    /// If that is no URL, or of another scheme.
    pub fn parse(url: &str) -> Result<Self, ConfigError> {
        // The problem must not quote the URL: it may hold a password.
        let bad = |problem: &str| ConfigError::new("", problem);
        let uri: Uri = url.trim().parse().map_err(|_| bad("is not a URL"))?;
        match uri.scheme_str() {
            Some("http" | "https" | "socks5" | "socks5h") => {}
            Some(other) => {
                let problem =
                    format!("has the scheme {other:?}; http, https and socks5 are supported");
                return Err(bad(&problem));
            }
            None => return Err(bad("should begin with http://, https:// or socks5://")),
        }
        let matcher = Matcher::builder().all(url.trim()).build();
        let intercept = matcher
            .intercept(&Uri::from_static("https://any.invalid/"))
            .ok_or_else(|| bad("names no host"))?;
        Self::of(&intercept).ok_or_else(|| bad("names no host"))
    }

    fn of(intercept: &Intercept) -> Option<Self> {
        let kind = match intercept.uri().scheme_str()? {
            "http" => ProxyKind::Http,
            "https" => ProxyKind::Https,
            "socks5" | "socks5h" => ProxyKind::Socks5,
            _ => return None,
        };
        let port = match kind {
            ProxyKind::Http => 80,
            ProxyKind::Https => 443,
            ProxyKind::Socks5 => 1080,
        };
        let uri = intercept.uri();
        let port = uri.port_u16().unwrap_or(port);
        let uri = Uri::builder()
            .scheme(uri.scheme()?.clone())
            .authority(format!("{}:{port}", uri.host()?))
            .path_and_query("/")
            .build()
            .ok()?;
        let user = intercept.raw_auth();
        Some(Self {
            kind,
            uri,
            authorization: intercept.basic_auth().cloned(),
            user: user.map(|(user, password)| (user.to_owned(), password.to_owned())),
        })
    }

    /// The proxy's host, without brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl ProxyChoice {
    /// The proxy to reach `server` through.
    pub(crate) fn for_server(
        &self,
        server: &Server,
        environment: &Environment,
    ) -> Result<Option<Proxy>, ConfigError> {
        match self {
            Self::Direct => Ok(None),
            Self::Proxy(proxy) => Ok(Some(proxy.clone())),
            Self::FromEnvironment => from_environment(server, environment),
        }
    }
}

/// Go's rules: upper case before lower case, no `ALL_PROXY`, loopback never.
fn from_environment(
    server: &Server,
    environment: &Environment,
) -> Result<Option<Proxy>, ConfigError> {
    if server.is_loopback() {
        return Ok(None);
    }
    let names = if server.is_https() {
        ["HTTPS_PROXY", "https_proxy"]
    } else if environment.var_os("REQUEST_METHOD").is_some() {
        // In CGI the client of the web server can set HTTP_PROXY.
        return Ok(None);
    } else {
        ["HTTP_PROXY", "http_proxy"]
    };
    let Some((name, url)) = names
        .into_iter()
        .find_map(|name| Some((name, environment.var(name)?)))
    else {
        return Ok(None);
    };
    let exceptions = environment
        .var("NO_PROXY")
        .or_else(|| environment.var("no_proxy"))
        .unwrap_or_default();
    let matcher = Matcher::builder()
        .all("http://any.invalid:1")
        .no(exceptions_for_port(&exceptions, server.port()))
        .build();
    let target = format!("{}://{}/", server.scheme(), server.authority());
    let target: Uri = target
        .parse()
        .map_err(|error| ConfigError::new("server", "is not a URL").with_source(error))?;
    if matcher.intercept(&target).is_none() {
        return Ok(None);
    }
    let url = if url.contains("://") {
        url
    } else {
        format!("http://{url}")
    };
    Proxy::parse(&url)
        .map(Some)
        .map_err(|error| error.within(name))
}

/// `NO_PROXY` in the form that the matcher takes: without entries for other ports, and
/// `*.suffix` as `.suffix`.
fn exceptions_for_port(list: &str, port: u16) -> String {
    let mut kept = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let (host, only) = match entry.rsplit_once(':') {
            // An IPv6 address has more colons, a bracketed one ends its host with ].
            Some((host, only)) if !host.contains(':') || host.ends_with(']') => (host, Some(only)),
            _ => (entry, None),
        };
        if only.is_some_and(|only| only.parse() != Ok(port)) {
            continue;
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = match host.strip_prefix('*') {
            Some(suffix) if suffix.starts_with('.') => suffix,
            _ => host,
        };
        kept.push(host);
    }
    kept.join(",")
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.uri)
    }
}

#[cfg(test)]
mod tests;
