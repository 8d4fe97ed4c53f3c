//! etcd and kube-apiserver on loopback, from nothing to ready.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::build::Programs;
use super::compaction;
use super::http::Endpoint;
use super::interrupt::Interrupt;
use super::kubeconfig;
use super::member::Member;
use super::pki::Pki;
use super::suite;

/// Four seconds are usual; a machine that builds at the same time needs many more.
const READY: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);
/// After this long a server that was asked to stop is killed.
const GRACE: Duration = Duration::from_secs(15);

/// Logs metadata of every request when it is answered.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// A control plane in processes of our own.
pub(super) struct Servers {
    // Dropped in this order: the API server first, the folder last.
    apiserver: Member,
    etcd: Member,
    apiserver_endpoint: Endpoint,
    etcd_endpoint: Endpoint,
    pki: Pki,
    audit: bool,
    interrupt: Interrupt,
    folder: TempDir,
}

impl Servers {
    /// Starts both and waits until they are ready.
    pub(super) fn start(programs: &Programs, audit: bool, interrupt: &Interrupt) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("informers-e2e-")
            .tempdir()
            .context("cannot create a temporary folder")?;
        let at = |name: &str| folder.path().join(name);
        let pki = Pki::create(folder.path())?;
        let token = suite::random_hex(2);
        kubeconfig::create_private(&at("tokens.csv"))
            .and_then(|mut file| writeln!(file, "{token},admin,admin,system:masters"))
            .context("cannot write the token file")?;
        if audit {
            fs::write(at("audit-policy.yaml"), AUDIT_POLICY)
                .context("cannot write the audit policy")?;
        }
        let [client, peer, secure] = free_addresses()?;
        let arguments = apiserver_arguments(folder.path(), client, secure, audit);
        let mut servers = Self {
            apiserver: Member::new(
                "kube-apiserver",
                programs.apiserver.clone(),
                arguments,
                at("kube-apiserver.log"),
            ),
            etcd: Member::new(
                "etcd",
                programs.etcd.clone(),
                etcd_arguments(folder.path(), client, peer),
                at("etcd.log"),
            ),
            apiserver_endpoint: Endpoint {
                address: secure,
                tls: Some(pki.client()?),
                token: Some(token.clone()),
            },
            etcd_endpoint: Endpoint {
                address: client,
                tls: None,
                token: None,
            },
            pki,
            audit,
            interrupt: interrupt.clone(),
            folder,
        };
        let server = format!("https://{secure}");
        kubeconfig::write(
            &servers.kubeconfig(),
            &server,
            &servers.pki.file("ca.crt"),
            &token,
        )?;
        servers.start_etcd()?;
        servers.start_apiserver()?;
        Ok(servers)
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The API server's audit log, where it was asked for.
    pub(super) fn audit_log(&self) -> Option<PathBuf> {
        self.audit.then(|| self.folder.path().join("audit.log"))
    }

    /// The addresses of the API server and of etcd.
    pub(super) fn addresses(&self) -> (SocketAddr, SocketAddr) {
        (self.apiserver_endpoint.address, self.etcd_endpoint.address)
    }

    pub(super) fn start_etcd(&mut self) -> Result<()> {
        self.etcd.start()?;
        wait_for(
            &mut self.etcd,
            &self.etcd_endpoint,
            "/health",
            &self.interrupt,
        )
    }

    pub(super) fn stop_etcd(&mut self) -> Result<()> {
        self.etcd.stop(GRACE)
    }

    pub(super) fn start_apiserver(&mut self) -> Result<()> {
        self.apiserver.start()?;
        wait_for(
            &mut self.apiserver,
            &self.apiserver_endpoint,
            "/readyz?verbose",
            &self.interrupt,
        )
    }

    pub(super) fn stop_apiserver(&mut self) -> Result<()> {
        self.apiserver.stop(GRACE)
    }

    /// Ends the API server as a crash of its machine would.
    pub(super) fn kill_apiserver(&mut self) -> Result<()> {
        self.apiserver.kill()
    }

    /// Compacts etcd to its current revision.
    pub(super) fn compact(&mut self) -> Result<()> {
        compaction::compact(&self.etcd_endpoint).map(drop)
    }

    /// Gives the API server a new serving certificate of the same authority; it notices
    /// the file within a minute.
    pub(super) fn rotate_serving_certificate(&mut self) -> Result<()> {
        self.pki.issue_serving_certificate()
    }

    /// Stops both; the folder goes with the value. `keep_logs` names where logs are copied.
    pub(super) fn stop(&mut self, keep_logs: Option<&Path>) -> Result<()> {
        let stopped = self.stop_apiserver().and(self.stop_etcd());
        if let Some(target) = keep_logs {
            fs::create_dir_all(target)
                .with_context(|| format!("cannot create {}", target.display()))?;
            for name in ["kube-apiserver.log", "etcd.log", "audit.log"] {
                let log = self.folder.path().join(name);
                if log.is_file() {
                    fs::copy(&log, target.join(name))
                        .with_context(|| format!("cannot keep {}", log.display()))?;
                }
            }
            println!("logs of the servers: {}", target.display());
        }
        stopped
    }
}

/// Waits until `path` of `member` answers 200; the error says who is late and what it logged.
fn wait_for(
    member: &mut Member,
    endpoint: &Endpoint,
    path: &str,
    interrupt: &Interrupt,
) -> Result<()> {
    let until = Instant::now() + READY;
    loop {
        let last = match endpoint.get(path) {
            Ok(response) if response.status == 200 => return Ok(()),
            Ok(response) => {
                let failing: Vec<&str> = response
                    .body
                    .lines()
                    .filter(|line| line.starts_with("[-]"))
                    .collect();
                format!("it answers {} {}", response.status, failing.join(", "))
            }
            Err(error) => format!("{error:#}"),
        };
        let name = member.name();
        if let Some(status) = member.exited()? {
            bail!(
                "{name} ended with {status}; its log:\n{}",
                member.log_tail()
            );
        }
        if Instant::now() >= until {
            bail!(
                "{name} is not ready after {} s: {last}; its log:\n{}",
                READY.as_secs(),
                member.log_tail()
            );
        }
        interrupt.pause(POLL)?;
    }
}

/// Three addresses nobody listened on a moment ago.
fn free_addresses() -> Result<[SocketAddr; 3]> {
    let listeners = [0; 3].map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); 3];
    for (address, listener) in addresses.iter_mut().zip(listeners) {
        *address = listener
            .and_then(|listener| listener.local_addr())
            .context("no free port")?;
    }
    Ok(addresses)
}

fn etcd_arguments(folder: &Path, client: SocketAddr, peer: SocketAddr) -> Vec<OsString> {
    let mut data = OsString::from("--data-dir=");
    data.push(folder.join("etcd"));
    let mut arguments = vec![data];
    arguments.extend(
        [
            "--name=e2e".to_owned(),
            format!("--listen-client-urls=http://{client}"),
            format!("--advertise-client-urls=http://{client}"),
            format!("--listen-peer-urls=http://{peer}"),
            format!("--initial-advertise-peer-urls=http://{peer}"),
            format!("--initial-cluster=e2e=http://{peer}"),
            // The data lives as long as the run: no disk has to be waited for.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ]
        .map(OsString::from),
    );
    arguments
}

fn apiserver_arguments(
    folder: &Path,
    etcd: SocketAddr,
    secure: SocketAddr,
    audit: bool,
) -> Vec<OsString> {
    let file = |flag: &str, name: &str| {
        let mut argument = OsString::from(format!("--{flag}="));
        argument.push(folder.join(name));
        argument
    };
    let mut arguments: Vec<OsString> = [
        format!("--etcd-servers=http://{etcd}"),
        format!("--secure-port={}", secure.port()),
        "--bind-address=127.0.0.1".to_owned(),
        // No endpoints object for the service of the API server: nothing routes to it.
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // Without it a watch that is open holds up the end for a minute.
        "--shutdown-watch-termination-grace-period=3s".to_owned(),
        // No controller makes service accounts here, and pods are made all the same.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ]
    .map(OsString::from)
    .into();
    arguments.extend([
        file("cert-dir", "certificates"),
        file("tls-cert-file", "serving.crt"),
        file("tls-private-key-file", "serving.key"),
        file("service-account-key-file", "service-account.pub"),
        file("service-account-signing-key-file", "service-account.key"),
        file("token-auth-file", "tokens.csv"),
        file("client-ca-file", "ca.crt"),
    ]);
    if audit {
        arguments.extend([
            file("audit-policy-file", "audit-policy.yaml"),
            file("audit-log-path", "audit.log"),
        ]);
    }
    arguments
}

#[cfg(test)]
mod tests;
