//! Tests of whom the client trusts and what it shows, by handshakes with a real server.

use std::fs;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa};

use crate::client::Client;
use crate::config::{Config, Identity, PemSource, TlsVersion};
use crate::request::Request;
use crate::testing::{Answer, Authority, Leaf, ServerOptions, TestServer, text_of};

/// What is special about a certificate.
type Change = fn(&mut CertificateParams);

async fn server(leaf: &Leaf) -> TestServer {
    let options = ServerOptions {
        tls: Some(leaf.clone()),
        ..ServerOptions::default()
    };
    TestServer::start(options, |_| Answer::ok("{}")).await
}

async fn get(config: Config) -> Result<u16, String> {
    let client = Client::new(config).map_err(|error| text_of(&error))?;
    match client.send(Request::get("/version")).await {
        Ok(response) => Ok(response.status().as_u16()),
        Err(error) => Err(text_of(&error)),
    }
}

async fn trusts(leaf: &Leaf, bundle: &str) -> Result<u16, String> {
    let server = server(leaf).await;
    get(server
        .config()
        .with_certificate_authority(PemSource::inline(bundle)))
    .await
}

// B41
#[tokio::test]
async fn bundle_with_text_crlf_and_the_signer_last_is_read_whole() {
    let (first, second, signer) = (
        Authority::new("1"),
        Authority::new("2"),
        Authority::new("3"),
    );
    let bundle = format!(
        "# first\n{}\n subject=the second\n\n{}-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydA==\n\
         -----END CERTIFICATE-----\n{}",
        first.pem,
        second.pem,
        signer.pem.trim_end()
    );
    let leaf = signer.server(&["127.0.0.1"]);
    for bundle in [bundle.clone(), bundle.replace('\n', "\r\n")] {
        assert_eq!(trusts(&leaf, &bundle).await, Ok(200));
    }
    let refused = trusts(&leaf, &first.pem).await.unwrap_err();
    assert!(refused.contains("certificate"), "{refused}");
}

#[tokio::test]
async fn bundle_without_a_certificate_is_a_config_error() {
    let leaf = Authority::new("ca").server(&["127.0.0.1"]);
    for bundle in ["", "no pem", &leaf.key] {
        let text = trusts(&leaf, bundle).await.unwrap_err();
        assert_eq!(text, "certificate-authority: holds no PEM certificate");
    }
    let missing = server(&leaf).await.config();
    let missing = missing.with_certificate_authority(PemSource::file("/nonexistent/ca.crt"));
    let text = get(missing).await.unwrap_err();
    assert!(
        text.contains("certificate-authority: file /nonexistent/ca.crt"),
        "{text}"
    );
}

/// What Go's TLS takes as its own authority: the certificate itself, whatever it says of
/// itself.
#[tokio::test]
async fn self_signed_certificate_is_its_own_authority() {
    let plain: Change = |_| {};
    let kinds: [(&str, Change); 4] = [
        ("no basic constraints", plain),
        ("CA:TRUE", |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }),
        ("CA:FALSE", |params| params.is_ca = IsCa::ExplicitNoCa),
        ("serverAuth", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }),
    ];
    for (kind, change) in kinds {
        let leaf = Leaf::self_signed(&["127.0.0.1"], change);
        assert_eq!(trusts(&leaf, &leaf.certificate).await, Ok(200), "{kind}");
        // But only that one.
        let other = Leaf::self_signed(&["127.0.0.1"], change);
        assert!(trusts(&leaf, &other.certificate).await.is_err(), "{kind}");
    }
}

#[tokio::test]
async fn self_signed_certificate_is_checked_for_name_time_and_use() {
    let kinds: [(&str, &[&str], Change); 4] = [
        ("another name", &["elsewhere"], |_| {}),
        ("expired", &["127.0.0.1"], |params| {
            params.not_before = rcgen::date_time_ymd(2000, 1, 1);
            params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        }),
        ("not yet valid", &["127.0.0.1"], |params| {
            params.not_before = rcgen::date_time_ymd(2060, 1, 1);
            params.not_after = rcgen::date_time_ymd(2070, 1, 1);
        }),
        ("for clients", &["127.0.0.1"], |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }),
    ];
    for (kind, names, change) in kinds {
        for is_ca in [IsCa::NoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
            let leaf = Leaf::self_signed(names, |params| {
                params.is_ca = is_ca;
                change(params);
            });
            let text = trusts(&leaf, &leaf.certificate).await.unwrap_err();
            assert!(text.contains("certificate"), "{kind}: {text}");
        }
    }
}

#[tokio::test]
async fn server_certificate_marked_as_ca_is_accepted_below_its_authority() {
    let authority = Authority::new("ca");
    let marked = |names: &[&str]| {
        authority.leaf(names, |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        })
    };
    assert_eq!(
        trusts(&marked(&["127.0.0.1"]), &authority.pem).await,
        Ok(200)
    );
    assert!(
        trusts(&marked(&["elsewhere"]), &authority.pem)
            .await
            .is_err()
    );
    // The same name is not the same authority.
    let impostor = Authority::new("ca");
    assert!(
        trusts(&marked(&["127.0.0.1"]), &impostor.pem)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn authority_without_key_usage_or_of_version_1_is_accepted() {
    let bare = Authority::with("bare", |params| params.key_usages.clear());
    assert_eq!(
        trusts(&bare.server(&["127.0.0.1"]), &bare.pem).await,
        Ok(200)
    );
    let old = include_str!("../../../testdata/ca-v1.crt.pem");
    let leaf = Leaf {
        certificate: include_str!("../../../testdata/below-v1.crt.pem").to_owned(),
        key: include_str!("../../../testdata/below-v1.key.pem").to_owned(),
    };
    assert_eq!(trusts(&leaf, old).await, Ok(200));
}

// B39
#[tokio::test]
async fn address_is_verified_as_an_address() {
    let authority = Authority::new("ca");
    let options = ServerOptions {
        tls: Some(authority.server(&["::1"])),
        address: "[::1]:0",
        ..ServerOptions::default()
    };
    let server = TestServer::start(options, |_| Answer::ok("{}")).await;
    let config = server
        .config()
        .with_certificate_authority(authority.bundle());
    assert_eq!(get(config).await, Ok(200));
    let host = format!("[::1]:{}", server.address.port());
    assert_eq!(server.seen()[0].header("host"), host);
    assert_eq!(server.names(), [None], "no SNI for an address");
}

// B40
#[tokio::test]
async fn tls_server_name_replaces_the_host() {
    let authority = Authority::new("ca");
    let server = server(&authority.server(&["api.internal"])).await;
    let config = server
        .config()
        .with_certificate_authority(authority.bundle());
    let text = get(config.clone()).await.unwrap_err();
    assert!(text.contains("not valid for"), "{text}");
    assert_eq!(server.seen().len(), 0);
    assert_eq!(
        get(config.with_tls_server_name("api.internal")).await,
        Ok(200)
    );
    assert_eq!(
        server.names().last().unwrap().as_deref(),
        Some("api.internal")
    );
}

#[tokio::test]
async fn insecure_accepts_any_certificate_and_excludes_an_authority() {
    let leaf = Authority::new("ca").server(&["elsewhere"]);
    let server = server(&leaf).await;
    let config = server.config().with_insecure_skip_tls_verify();
    assert_eq!(get(config.clone()).await, Ok(200));
    let both = config.with_certificate_authority(PemSource::inline(&leaf.certificate));
    let text = get(both).await.unwrap_err();
    assert!(
        text.contains("insecure-skip-tls-verify: cannot be used together"),
        "{text}"
    );
}

/// A server that asks for client certificates.
async fn mutual(authority: &Authority, http2: bool) -> TestServer {
    let options = ServerOptions {
        tls: Some(authority.server(&["127.0.0.1"])),
        client_authority: Some(authority.pem.clone()),
        http2,
        ..ServerOptions::default()
    };
    TestServer::start(options, |_| Answer::ok("{}")).await
}

// B42
#[tokio::test]
async fn client_certificate_is_shown() {
    let authority = Authority::new("ca");
    let server = mutual(&authority, false).await;
    let config = server
        .config()
        .with_certificate_authority(authority.bundle());
    assert!(get(config.clone()).await.is_err());
    let identity = authority.client("jane").identity();
    assert_eq!(get(config.with_identity(identity)).await, Ok(200));
    assert!(server.seen()[0].certificate.is_some());
}

// B52
#[tokio::test]
async fn client_certificate_files_are_read_again_and_connections_made_again() {
    for http2 in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("crt"), directory.path().join("key"));
        let authority = Authority::new("ca");
        let write = |name: &str| {
            let leaf = authority.client(name);
            fs::write(&certificate, leaf.certificate).unwrap();
            fs::write(&key, leaf.key).unwrap();
        };
        write("one");
        let server = mutual(&authority, http2).await;
        let mut config = server
            .config()
            .with_certificate_authority(authority.bundle())
            .with_identity(Identity {
                certificate: PemSource::file(&certificate),
                key: PemSource::file(&key),
            });
        config.timeouts.file_check = Duration::ZERO;
        let client = Client::new(config).unwrap();
        let shown = async || {
            let response = client.send(Request::get("/")).await.unwrap();
            let mut body = response.into_body();
            while body.next().await.unwrap().is_some() {}
            server.seen().last().unwrap().clone()
        };
        let first = shown().await;
        assert_eq!(shown().await.connection, first.connection);
        write("two");
        let second = shown().await;
        assert_ne!(second.connection, first.connection);
        assert_ne!(second.certificate, first.certificate);
        // A broken file leaves the last good certificate.
        fs::write(&key, "broken").unwrap();
        assert_eq!(shown().await.certificate, second.certificate);
    }
}

#[tokio::test]
async fn authority_file_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("ca.crt");
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    fs::write(&bundle, &old.pem).unwrap();
    let server = server(&new.server(&["127.0.0.1"])).await;
    let mut config = server
        .config()
        .with_certificate_authority(PemSource::file(&bundle));
    config.timeouts.file_check = Duration::ZERO;
    let client = Client::new(config).unwrap();
    assert!(client.send(Request::get("/")).await.is_err());
    fs::write(&bundle, &new.pem).unwrap();
    assert!(client.send(Request::get("/")).await.is_ok());
}

#[tokio::test]
async fn tls_below_the_minimum_version_is_refused_and_both_are_named() {
    let authority = Authority::new("ca");
    let options = ServerOptions {
        tls: Some(authority.server(&["127.0.0.1"])),
        only_tls12: true,
        ..ServerOptions::default()
    };
    let server = TestServer::start(options, |_| Answer::ok("{}")).await;
    let config = || {
        server
            .config()
            .with_certificate_authority(authority.bundle())
    };
    assert_eq!(get(config()).await, Ok(200));
    let lowest = config().with_min_tls_version(TlsVersion::V1_2);
    assert_eq!(get(lowest).await, Ok(200));
    let text = get(config().with_min_tls_version(TlsVersion::V1_3))
        .await
        .unwrap_err();
    assert!(
        text.contains("the server speaks TLS 1.2 at most, and this client 1.3 at least"),
        "{text}"
    );
    // Certificates and versions are two things.
    let server = self::server(&authority.server(&["127.0.0.1"])).await;
    let config = server.config().with_min_tls_version(TlsVersion::V1_3);
    let trusting = config
        .clone()
        .with_certificate_authority(authority.bundle());
    assert_eq!(get(trusting).await, Ok(200));
    let text = get(config.with_certificate_authority(Authority::new("other").bundle()))
        .await
        .unwrap_err();
    assert!(!text.contains("at least"), "{text}");
}

// B52
#[tokio::test]
async fn idle_watch_is_made_again_with_the_certificate_that_was_rotated() {
    for http2 in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("crt"), directory.path().join("key"));
        let authority = Authority::new("ca");
        let write = |name: &str| {
            let leaf = authority.client(name);
            fs::write(&certificate, leaf.certificate).unwrap();
            fs::write(&key, leaf.key).unwrap();
        };
        write("one");
        let options = ServerOptions {
            tls: Some(authority.server(&["127.0.0.1"])),
            client_authority: Some(authority.pem.clone()),
            http2,
            ..ServerOptions::default()
        };
        let server = TestServer::start(options, |_| {
            let (tx, answer) = Answer::stream();
            // Open until the server ends.
            std::mem::forget(tx);
            answer
        })
        .await;
        let mut config = server
            .config()
            .with_certificate_authority(authority.bundle())
            .with_identity(Identity {
                certificate: PemSource::file(&certificate),
                key: PemSource::file(&key),
            });
        config.timeouts.file_check = Duration::from_millis(5);
        let client = Client::new(config).unwrap();
        let watch = async || {
            let request = Request::get("/watch").streaming();
            client.send(request).await.unwrap().into_body()
        };
        let mut idle = watch().await;
        write("two");
        // Nothing is sent and nothing comes: only the files can end it.
        let error = idle.next().await.unwrap_err();
        assert!(error.is_unexpected_eof(), "{error:?}");
        assert!(text_of(&error).contains("TLS files changed"), "{error:?}");
        let again = watch().await;
        let seen = server.seen();
        assert_ne!(seen[1].connection, seen[0].connection);
        assert_ne!(seen[1].certificate, seen[0].certificate);
        drop((idle, again));
        // Whoever looks at the files is waited for.
        client.close().await;
        assert!(client.tasks().is_empty());
    }
}

#[tokio::test]
async fn files_are_looked_at_in_between_only_where_there_are_files() {
    let authority = Authority::new("ca");
    let server = server(&authority.server(&["127.0.0.1"])).await;
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("ca.crt");
    fs::write(&bundle, &authority.pem).unwrap();
    // Over HTTP/1.1 there is no other task.
    for (bundle, file_check, tasks) in [
        (authority.bundle(), Duration::from_secs(3600), 0),
        (PemSource::file(&bundle), Duration::ZERO, 0),
        (PemSource::file(&bundle), Duration::from_secs(3600), 1),
    ] {
        let mut config = server.config().with_certificate_authority(bundle);
        config.timeouts.file_check = file_check;
        let client = Client::new(config).unwrap();
        assert_eq!(client.tasks().len(), 0);
        for _ in 0..2 {
            client.send(Request::get("/")).await.unwrap();
            assert_eq!(client.tasks().len(), tasks);
        }
        // An hour is not waited for, neither by whoever closes ...
        client.close().await;
        assert_eq!(client.tasks().len(), 0);
    }
    // ... nor when the last clone is gone.
    let mut config = server
        .config()
        .with_certificate_authority(PemSource::file(&bundle));
    config.timeouts.file_check = Duration::from_secs(3600);
    let client = Client::new(config).unwrap();
    client.send(Request::get("/")).await.unwrap();
    let tasks = client.tasks().clone();
    drop(client);
    tasks.close();
    tasks.wait().await;
}
