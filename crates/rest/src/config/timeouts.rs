//! [`Timeouts`]: how long the steps of a request may take.

use std::time::Duration;

/// How long the steps of a request may take. Watches have no total: the server ends
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// To a TCP connection, through a proxy if there is one; 30 s (client-go's).
    pub connect: Duration,
    /// For the TLS handshake; 10 s (client-go's).
    pub tls_handshake: Duration,
    /// To the head of the answer of a list or watch, at first; 10 s. After each time-out
    /// the next request waits twice as long, up to [`response_max`](Self::response_max),
    /// so that a server that is silent is noticed early, and one that takes long for a
    /// large list is given its time. client-go has no such limit.
    pub response: Duration,
    /// The longest wait for the head of an answer, and that of every other request;
    /// 75 s: the server itself gives up after 60.
    pub response_max: Duration,
    /// How long the body of an answer may stand still, watches excepted; 60 s.
    pub body_idle: Duration,
    /// HTTP/2: a PING after so much silence; 30 s (client-go's). Zero turns it off.
    pub ping_interval: Duration,
    /// HTTP/2: how long its answer may take before the connection counts as dead;
    /// 15 s (client-go's).
    pub ping_timeout: Duration,
    /// TCP keepalive: the first probe after so much silence, and the time between
    /// probes; 30 s (Go's 15 s would double the traffic of idle watches).
    pub tcp_keepalive: Duration,
    /// How long an unused connection is kept; 90 s (Go's).
    pub pool_idle: Duration,
    /// How long a watch may outlive the `timeoutSeconds` it asked for; 5 s.
    pub watch_margin: Duration,
    /// How often token, certificate and CA files are looked at; 10 s. A 401 looks at
    /// once. From the first request on, the certificate and CA files of an `https`
    /// server are looked at in between requests too, so that a watch is made again that
    /// nothing happens on (client-go: every 5 minutes). Zero means at every request,
    /// and not in between.
    pub file_check: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            tls_handshake: Duration::from_secs(10),
            response: Duration::from_secs(10),
            response_max: Duration::from_secs(75),
            body_idle: Duration::from_secs(60),
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
            tcp_keepalive: Duration::from_secs(30),
            pool_idle: Duration::from_secs(90),
            watch_margin: Duration::from_secs(5),
            file_check: Duration::from_secs(10),
        }
    }
}
