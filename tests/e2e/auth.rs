//! Part of the suite `basic`: each way to prove who one is, and what is spoken on the way.
//!
//! The API server itself says whom it takes the client for, by a `SelfSubjectReview`.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::future;
use informers::{Client, Config, Kubeconfig, Overrides};
use informers_rest::{Connecting, Connector, Impersonation, Request, Transport};
use informers_tests::RawApi;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::report::{Outcome, Report};
use crate::target::Target;

/// A scenario that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// Watches of one client: more than a connection of kube-apiserver has streams (100).
const WATCHES: usize = 150;

pub(crate) async fn run(target: &Arc<Target>, report: &mut Report) {
    let mut scenarios = Scenarios { target, report };
    scenarios
        .run("client_certificate", client_certificate)
        .await;
    scenarios.run("token", token).await;
    scenarios.run("token_file", token_file).await;
    scenarios.run("exec", exec).await;
    scenarios.run("impersonation", impersonation).await;
    scenarios.run("http2", http2).await;
}

struct Scenarios<'a> {
    target: &'a Arc<Target>,
    report: &'a mut Report,
}

impl Scenarios<'_> {
    async fn run<F>(&mut self, name: &str, scenario: fn(Arc<Target>) -> F)
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let target = Arc::clone(self.target);
        let provider = target.environment().provider.clone();
        let limited = async move {
            if provider != "binaries" {
                let reason = format!("the provider {provider} has no users of the suite's own");
                return Ok(Outcome::Skipped(reason));
            }
            scenario(target).await.map(|()| Outcome::Passed)
        };
        let name = format!("auth/{name}");
        self.report.run(&name, LIMIT, limited).await;
    }
}

/// The user of a client certificate.
async fn client_certificate(target: Arc<Target>) -> Result<()> {
    let overrides = Overrides {
        user: Some("certified".to_owned()),
        ..Overrides::default()
    };
    let config = Kubeconfig::read(kubeconfig(&target)?)?.config(&overrides)?;
    let myself = whoami(&config).await?;
    ensure!(myself.username == "certified", "{myself:?}");
    ensure!(myself.is_in("system:masters"), "{myself:?}");
    // It is the certificate that does it.
    let users = Users::new(&target)?;
    let error = whoami(&users.config(&json!({}))?).await;
    ensure!(
        error.is_err() || error.is_ok_and(|it| it.username == "system:anonymous"),
        "somebody without credentials is taken for a user"
    );
    Ok(())
}

/// The user of a bearer token.
async fn token(target: Arc<Target>) -> Result<()> {
    let users = Users::new(&target)?;
    let token = users.token.clone();
    let myself = whoami(&users.config(&json!({ "token": token }))?).await?;
    ensure!(myself.username == "admin", "{myself:?}");
    let refused = whoami(&users.config(&json!({ "token": "another" }))?).await;
    let text = format!("{:#}", refused.err().context("any token is accepted")?);
    ensure!(text.contains("401"), "{text}");
    ensure!(!text.contains("another"), "the token is in the error");
    Ok(())
}

/// A token file that is wrong at first: the 401 makes the client read it again.
async fn token_file(target: Arc<Target>) -> Result<()> {
    let users = Users::new(&target)?;
    let path = users.folder.path().join("token");
    std::fs::write(&path, "outdated\n")?;
    let api = RawApi::new(Client::new(users.config(&json!({ "tokenFile": path }))?)?);
    ensure!(review(&api).await.is_err(), "an outdated token is accepted");
    std::fs::write(&path, format!("{}\n", users.token))?;
    let myself = review(&api).await?;
    ensure!(myself.username == "admin", "{myself:?}");
    Ok(())
}

/// A plugin that prints the token and is told of the cluster.
#[cfg(unix)]
async fn exec(target: Arc<Target>) -> Result<()> {
    let users = Users::new(&target)?;
    let folder = users.folder.path().to_owned();
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": { "token": users.token },
    });
    std::fs::write(folder.join("credential"), credential.to_string())?;
    let script = "printf '%s\\n' \"$KUBERNETES_EXEC_INFO\" >> \"$1/runs\"; cat \"$1/credential\"";
    let config = users.config(&json!({ "exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", script, "plugin", folder],
        "interactiveMode": "Never",
        "provideClusterInfo": true,
    }}))?;
    let api = RawApi::new(Client::new(config)?);
    for myself in future::try_join_all((0..5).map(|_| review(&api))).await? {
        ensure!(myself.username == "admin", "{myself:?}");
    }
    let runs = std::fs::read_to_string(folder.join("runs"))?;
    let runs: Vec<&str> = runs.lines().collect();
    ensure!(runs.len() == 1, "the plugin ran {} times", runs.len());
    let told: Value = serde_json::from_str(runs[0])?;
    let server = &told["spec"]["cluster"]["server"];
    ensure!(*server == target.config().server_url(), "told {server}");
    Ok(())
}

#[cfg(not(unix))]
async fn exec(_target: Arc<Target>) -> Result<()> {
    Ok(())
}

/// Somebody else, with everything that can be asked for.
async fn impersonation(target: Arc<Target>) -> Result<()> {
    let users = Users::new(&target)?;
    let token = users.token.clone();
    let jane = json!({
        "token": token,
        "as": "jane",
        "as-uid": "4711",
        "as-groups": ["developers", "on call"],
        "as-user-extra": { "example.com/Scope": ["read", "read/write"] },
    });
    let by_file = whoami(&users.config(&jane)?).await?;
    let mut jane = Impersonation::user("jane");
    jane.uid = "4711".to_owned();
    jane.groups = vec!["developers".to_owned(), "on call".to_owned()];
    let scopes = ["read", "read/write"].map(str::to_owned);
    jane.extra = vec![("example.com/Scope".to_owned(), scopes.to_vec())];
    let by_code = whoami(&target.config().clone().with_impersonation(jane)).await?;
    for myself in [by_file, by_code] {
        ensure!(
            myself.username == "jane" && myself.uid == "4711",
            "{myself:?}"
        );
        ensure!(
            myself.is_in("developers") && myself.is_in("on call"),
            "{myself:?}"
        );
        // Header names have no case.
        ensure!(
            myself.extra.get("example.com/scope") == Some(&scopes.to_vec()),
            "{myself:?}"
        );
    }
    Ok(())
}

/// HTTP/2, and as many connections as the watches need.
async fn http2(target: Arc<Target>) -> Result<()> {
    let connects = Arc::new(AtomicUsize::new(0));
    let connector = Counting(Arc::clone(&connects));
    let config = target.config().clone().with_connector(Arc::new(connector));
    let client = Client::new(config)?;
    let path = format!("{}?watch=true", target.collection("configmaps"));
    let watches = (0..WATCHES).map(|_| client.send(Request::get(&path).streaming()));
    let watches = future::try_join_all(watches).await?;
    for watch in &watches {
        ensure!(watch.status() == 200, "{}", watch.status());
        let version = watch.version();
        ensure!(version == http::Version::HTTP_2, "{version:?} is spoken");
    }
    // One more request does not wait for the watches.
    client.request(Request::get("/version")).await?;
    let connects = connects.load(Ordering::SeqCst);
    ensure!(
        connects == 2,
        "{connects} connections for {WATCHES} watches"
    );
    drop(watches);
    client.close().await;
    Ok(())
}

/// Counts the connections it opens.
struct Counting(Arc<AtomicUsize>);

impl Connector for Counting {
    fn connect(&self, host: &str, port: u16) -> Connecting {
        self.0.fetch_add(1, Ordering::SeqCst);
        let address = (host.to_owned(), port);
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            let stream: Box<dyn Transport> = Box::new(stream);
            Ok(stream)
        })
    }
}

/// Makes kubeconfigs of users of the suite's own, each read from a file.
struct Users {
    cluster: Value,
    /// The admin's token.
    token: String,
    folder: TempDir,
}

impl Users {
    fn new(target: &Target) -> Result<Self> {
        let path = kubeconfig(target)?;
        let text = std::fs::read(&path).with_context(|| format!("{}", path.display()))?;
        // What `cargo xtask e2e` writes is JSON.
        let given: Value = serde_json::from_slice(&text)?;
        let token = given["users"][0]["user"]["token"].as_str();
        Ok(Self {
            cluster: given["clusters"][0]["cluster"].clone(),
            token: token.context("the kubeconfig has no token")?.to_owned(),
            folder: tempfile::tempdir()?,
        })
    }

    fn config(&self, user: &Value) -> Result<Config> {
        let text = json!({
            "clusters": [{ "name": "e2e", "cluster": self.cluster }],
            "users": [{ "name": "tested", "user": user }],
            "contexts": [{ "name": "e2e", "context": { "cluster": "e2e", "user": "tested" } }],
            "current-context": "e2e",
        });
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, text.to_string())?;
        Ok(Kubeconfig::read(&path)?.config(&Overrides::default())?)
    }
}

/// Whom the API server takes somebody for.
#[derive(Debug, Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    extra: HashMap<String, Vec<String>>,
}

impl UserInfo {
    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|other| other == group)
    }
}

async fn whoami(config: &Config) -> Result<UserInfo> {
    review(&RawApi::new(Client::new(config.clone())?)).await
}

async fn review(api: &RawApi) -> Result<UserInfo> {
    let question = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
    });
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let mut answer = api.create(path, &question).await?;
    Ok(serde_json::from_value(answer["status"]["userInfo"].take())?)
}

fn kubeconfig(target: &Target) -> Result<PathBuf> {
    let paths = target.environment().kubeconfig.as_ref();
    Ok(Path::new(paths.context("there is no kubeconfig")?).to_owned())
}
