//! From a chosen context to a [`Config`].

use std::path::Path;

use super::kubeconfig::{Context, Entry, find};
use super::{
    Compression, Config, ConfigError, Fields, Identity, Kubeconfig, Overrides, PemSource, Server,
};
use crate::credentials::{Credentials, ExecCluster, ExecConfig, Impersonation, OidcConfig};
use crate::proxy::{Proxy, ProxyChoice};

/// The configuration of the context that `overrides` and the file choose.
pub(super) fn resolve(
    kubeconfig: &Kubeconfig,
    overrides: &Overrides,
) -> Result<Config, ConfigError> {
    let context = kubeconfig.choose(overrides)?;
    let (mut config, exec_cluster) = cluster(kubeconfig, &context)?;
    if let Some(namespace) = context.namespace {
        config.namespace = namespace;
    }
    let Some(name) = context.user else {
        return Ok(config);
    };
    let place = format!("users[{name}]");
    // A user that is not there is anonymous, as in kubectl.
    let Some(entry) = find(&kubeconfig.users, &name, &place)? else {
        if overrides.user.is_some() {
            return Err(ConfigError::new(place, "does not exist"));
        }
        return Ok(config);
    };
    user(&mut config, entry, exec_cluster).map_err(|error| error.within(&place))?;
    Ok(config)
}

fn cluster(
    kubeconfig: &Kubeconfig,
    context: &Context,
) -> Result<(Config, ExecCluster), ConfigError> {
    let name = &context.cluster;
    if name.is_empty() {
        return Err(ConfigError::new(
            "contexts",
            "the chosen context names no cluster",
        ));
    }
    let place = format!("clusters[{name}]");
    let Some(entry) = find(&kubeconfig.clusters, name, &place)? else {
        return Err(ConfigError::new(place, "does not exist"));
    };
    read_cluster(entry).map_err(|error| error.within(&place))
}

fn read_cluster(entry: &Entry) -> Result<(Config, ExecCluster), ConfigError> {
    let fields = entry.fields()?;
    let Some(url) = fields.string("server")? else {
        return Err(ConfigError::new("server", "is not set"));
    };
    let certificate_authority = pem(fields, "certificate-authority")?;
    let insecure = fields.bool("insecure-skip-tls-verify")?;
    if insecure && certificate_authority.is_some() {
        return Err(ConfigError::new(
            "insecure-skip-tls-verify",
            "cannot be used together with a certificate-authority",
        ));
    }
    // As client-go: a bare host is https where there is something to verify it by.
    let scheme = if insecure || certificate_authority.is_some() {
        "https"
    } else {
        "http"
    };
    let mut config = Config::for_server(Server::parse(url, scheme)?);
    config.tls.server_name = fields.string("tls-server-name")?.map(str::to_owned);
    config.tls.insecure = insecure;
    config.tls.certificate_authority = certificate_authority;
    if let Some(proxy) = fields.string("proxy-url")? {
        let proxy = Proxy::parse(proxy).map_err(|error| error.within("proxy-url"))?;
        config.proxy = ProxyChoice::Proxy(proxy);
    }
    if fields.bool("disable-compression")? {
        config.compression = Compression::Never;
    }
    let exec_cluster = ExecCluster {
        server: url.to_owned(),
        tls_server_name: config.tls.server_name.clone(),
        insecure_skip_tls_verify: insecure,
        certificate_authority: config.tls.certificate_authority.clone(),
        proxy_url: fields.string("proxy-url")?.map(str::to_owned),
        disable_compression: config.compression == Compression::Never,
        config: exec_extension(fields)?,
    };
    Ok((config, exec_cluster))
}

/// The extension that a cluster keeps for exec plugins.
fn exec_extension(fields: Fields<'_>) -> Result<Option<serde_json::Value>, ConfigError> {
    const NAME: &str = "client.authentication.k8s.io/exec";
    let extension = fields
        .list("extensions")?
        .iter()
        .find(|extension| extension.get("name").and_then(|name| name.as_str()) == Some(NAME));
    Ok(extension.and_then(|extension| extension.get("extension").cloned()))
}

fn user(config: &mut Config, entry: &Entry, cluster: ExecCluster) -> Result<(), ConfigError> {
    let fields = entry.fields()?;
    if !config.server.is_https() {
        if fields.keys().next().is_some() {
            tracing::warn!(
                user = entry.name,
                server = %config.server,
                "the server's URL is http: the user's credentials are not sent"
            );
        }
        return Ok(());
    }
    config.impersonation = impersonation(fields)?;
    config.tls.identity = identity(fields)?;
    config.credentials = credentials(fields, cluster)?;
    Ok(())
}

fn impersonation(fields: Fields<'_>) -> Result<Impersonation, ConfigError> {
    let mut extra = Vec::new();
    if let Some(map) = fields.fields("as-user-extra")? {
        for key in map.keys() {
            let values = map
                .strings(key)
                .map_err(|error| error.within("as-user-extra"))?;
            extra.push((key.to_owned(), values));
        }
    }
    let impersonation = Impersonation {
        user: fields.string("as")?.unwrap_or_default().to_owned(),
        uid: fields.string("as-uid")?.unwrap_or_default().to_owned(),
        groups: fields.strings("as-groups")?,
        extra,
    };
    impersonation.check().map_err(|error| error.within("as"))?;
    Ok(impersonation)
}

fn identity(fields: Fields<'_>) -> Result<Option<Identity>, ConfigError> {
    let certificate = pem(fields, "client-certificate")?;
    let key = pem(fields, "client-key")?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(Identity { certificate, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(ConfigError::new(
            "client-key",
            "is not set, but client-certificate is",
        )),
        (None, Some(_)) => Err(ConfigError::new(
            "client-certificate",
            "is not set, but client-key is",
        )),
    }
}

fn credentials(fields: Fields<'_>, cluster: ExecCluster) -> Result<Credentials, ConfigError> {
    let token = fields.string("token")?;
    let token_file = fields.path("tokenFile")?;
    let basic = basic(fields)?;
    let exec = fields.fields("exec")?;
    let provider = fields.fields("auth-provider")?;
    if basic.is_some() && (token.is_some() || token_file.is_some()) {
        return Err(ConfigError::new(
            "username",
            "cannot be used together with a token",
        ));
    }
    if exec.is_some() && provider.is_some() {
        return Err(ConfigError::new(
            "exec",
            "cannot be used together with auth-provider",
        ));
    }
    if let Some(path) = token_file {
        return Ok(Credentials::TokenFile {
            path,
            fallback: token.map(Into::into),
        });
    }
    if let Some(token) = token {
        return Ok(Credentials::token(token));
    }
    if let Some(basic) = basic {
        return Ok(basic);
    }
    if let Some(fields) = exec {
        let exec = exec_config(fields, cluster).map_err(|error| error.within("exec"))?;
        return Ok(Credentials::Exec(Box::new(exec)));
    }
    if let Some(fields) = provider {
        let oidc = auth_provider(fields).map_err(|error| error.within("auth-provider"))?;
        return Ok(Credentials::Oidc(Box::new(oidc)));
    }
    Ok(Credentials::None)
}

fn basic(fields: Fields<'_>) -> Result<Option<Credentials>, ConfigError> {
    let username = fields.string("username")?;
    let password = fields.string("password")?;
    if username.is_none() && password.is_none() {
        return Ok(None);
    }
    Ok(Some(Credentials::basic(
        username.unwrap_or_default(),
        password.unwrap_or_default(),
    )))
}

fn exec_config(fields: Fields<'_>, cluster: ExecCluster) -> Result<ExecConfig, ConfigError> {
    let command = fields
        .string("command")?
        .ok_or_else(|| ConfigError::new("command", "is not set"))?;
    // A bare name is looked for in PATH, a relative path begins at the file.
    let command = match Path::new(command).components().count() {
        1 if !command.contains(['/', std::path::MAIN_SEPARATOR]) => command.into(),
        _ => fields.resolve(Path::new(command)),
    };
    let mut environment = Vec::new();
    for variable in fields.list("env")? {
        let variable = Fields::of(variable, None).map_err(|error| error.within("env"))?;
        let name = variable
            .string("name")
            .map_err(|error| error.within("env"))?;
        let value = variable
            .string("value")
            .map_err(|error| error.within("env"))?;
        if let Some(name) = name {
            environment.push((name.to_owned(), value.unwrap_or_default().to_owned()));
        }
    }
    let exec = ExecConfig {
        api_version: fields.string("apiVersion")?.unwrap_or_default().to_owned(),
        command,
        args: fields.strings("args")?,
        environment,
        install_hint: fields.string("installHint")?.map(str::to_owned),
        interactive_mode: fields.string("interactiveMode")?.map(str::to_owned),
        cluster: fields.bool("provideClusterInfo")?.then_some(cluster),
    };
    exec.check()?;
    Ok(exec)
}

fn auth_provider(fields: Fields<'_>) -> Result<OidcConfig, ConfigError> {
    match fields.string("name")? {
        Some("oidc") => {}
        Some(name) => {
            let problem = format!(
                "{name:?} is not supported (kubectl has removed it as well); use an exec plugin"
            );
            return Err(ConfigError::new("name", problem));
        }
        None => return Err(ConfigError::new("name", "is not set")),
    }
    let Some(config) = fields.fields("config")? else {
        return Err(ConfigError::new("config", "is not set"));
    };
    OidcConfig::of(config).map_err(|error| error.within("config"))
}

/// `<key>-data` if set, else the file `<key>`.
fn pem(fields: Fields<'_>, key: &str) -> Result<Option<PemSource>, ConfigError> {
    if let Some(data) = fields.data(&format!("{key}-data"))? {
        return Ok(Some(PemSource::inline(data)));
    }
    Ok(fields.path(key)?.map(PemSource::File))
}
