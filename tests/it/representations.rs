//! What objects become on their way from the wire: typed, a struct of one's own, metadata,
//! dynamic, packed; and those that do not fit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use informers::{
    ApiResource, Initial, Object, Packed, PartialObjectMetadata, Scope, SharedInformerFactory,
    wire_type,
};
use informers_fake_apiserver::{FakeApiServer, ResourceType};
use informers_objects::Identity;
use informers_tests::{History, Told, until};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::support::{Mode, PATIENCE, converge, cut_off, factory, reads, stored, truth};

/// A custom resource whose price does not take every number that the server takes.
#[derive(serde::Deserialize)]
struct Widget {
    metadata: Identity,
    spec: WidgetSpec,
}

#[derive(serde::Deserialize)]
struct WidgetSpec {
    price: u8,
}

wire_type!(Widget => namespaced "example.com" / "v1" / "widgets", "Widget");

fn widget(name: &str, price: i64) -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default", "labels": {"shape": "round"}},
        "spec": {"price": price, "color": "red"},
    })
}

#[tokio::test(flavor = "multi_thread")]
#[expect(
    clippy::too_many_lines,
    reason = "the life of one object, in its order"
)]
async fn undecodable_object_hides_no_other_and_heals_by_its_next_good_version() {
    // B14, for the list and for MODIFIED.
    for mode in Mode::ALL {
        let ty = ResourceType::new("example.com", "v1", "widgets", "Widget");
        let server = FakeApiServer::builder().resource(ty).start().await.unwrap();
        let cluster = server.cluster();
        let set_price = |name: &str, price: i64| {
            let key = format!("default/{name}");
            cluster
                .patch_merge("widgets", &key, json!({"spec": {"price": price}}))
                .unwrap()
        };
        for (name, price) in [("good", 10), ("bad", -5), ("other", 3)] {
            cluster.create(widget(name, price)).unwrap();
        }
        let factory = factory(&server);
        let widgets = factory.informer_with_options::<Widget>(Scope::all(), mode.options());
        let history = History::default();
        widgets.add_event_handler(history.clone()).unwrap();
        let errors = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&errors);
        widgets
            .set_watch_error_handler(Arc::new(move |error| {
                if let Some(bad) = error.error.as_undecodable() {
                    told.lock()
                        .unwrap()
                        .push((bad.name.to_string(), bad.path.clone()));
                }
            }))
            .unwrap();
        let store = widgets.store();
        let price = |name: &str| {
            store
                .get_by_key(&format!("default/{name}"))
                .map(|it| it.spec.price)
        };
        let undecodable = || -> Vec<(String, String)> {
            let bad = store.undecodable();
            bad.iter()
                .map(|bad| (bad.name.to_string(), bad.path.clone()))
                .collect()
        };
        let at_price = |name: &str| (format!("default/{name}"), "spec.price".to_owned());

        // In the list.
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        assert_eq!(
            (price("good"), price("bad"), price("other")),
            (Some(10), None, Some(3))
        );
        assert_eq!(undecodable(), [at_price("bad")], "{mode:?}");
        assert_eq!(*errors.lock().unwrap(), [at_price("bad")], "{mode:?}");
        set_price("bad", 7);
        until("it is healed", PATIENCE, || price("bad") == Some(7))
            .await
            .unwrap();
        until("nothing is bad", PATIENCE, || undecodable().is_empty())
            .await
            .unwrap();
        converge(&server, "widgets", &widgets, &history)
            .await
            .unwrap();
        assert_eq!(history.counts(), (3, 0, 0), "{mode:?}");

        // By MODIFIED: the last good version stays, the others go on.
        set_price("good", 300);
        set_price("other", 4);
        until("the other is told", PATIENCE, || price("other") == Some(4))
            .await
            .unwrap();
        assert_eq!(price("good"), Some(10));
        assert_eq!(undecodable(), [at_price("good")], "{mode:?}");
        // A relist does not take it for deleted.
        cut_off(&server).await;
        set_price("other", 5);
        cluster.compact();
        server.resume().unwrap();
        until("the relist", PATIENCE, || price("other") == Some(5))
            .await
            .unwrap();
        assert_eq!(price("good"), Some(10));
        set_price("good", 11);
        until("it is healed", PATIENCE, || price("good") == Some(11))
            .await
            .unwrap();
        converge(&server, "widgets", &widgets, &history)
            .await
            .unwrap();
        assert_eq!(history.counts(), (3, 3, 0), "{mode:?}");

        // Deleted while it does not decode.
        set_price("good", -1);
        until("it is bad again", PATIENCE, || undecodable().len() == 1)
            .await
            .unwrap();
        cluster.delete("widgets", "default/good").unwrap();
        converge(&server, "widgets", &widgets, &history)
            .await
            .unwrap();
        assert!(
            matches!(history.told().last(), Some(Told::Delete { key, .. }) if key == "default/good")
        );
        until("nothing is bad", PATIENCE, || undecodable().is_empty())
            .await
            .unwrap();

        // No watch was ended by it, and nothing listed but at first and after the 410.
        let (lists, watches) = reads(&server, "widgets");
        let expected = if mode.initial == Initial::List {
            (2, 3)
        } else {
            (0, 3)
        };
        assert_eq!((lists, watches), expected, "{mode:?}");
        factory.shutdown(PATIENCE).await.unwrap();
        server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_representation_holds_what_the_server_has() {
    let server = FakeApiServer::start().await.unwrap();
    server.cluster().seed_pods(200, 5);
    let factory = factory(&server);
    let typed = factory.informer::<Pod>();
    let packed = factory.informer::<Packed<Pod>>();
    let metadata = factory.informer::<PartialObjectMetadata<Pod>>();
    let pods: ApiResource = "v1/pods".parse().unwrap();
    let dynamic = factory.dynamic(pods);
    let histories: [History; 4] = std::array::from_fn(|_| History::default());
    typed.add_event_handler(histories[0].clone()).unwrap();
    packed.add_event_handler(histories[1].clone()).unwrap();
    metadata.add_event_handler(histories[2].clone()).unwrap();
    dynamic.add_event_handler(histories[3].clone()).unwrap();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let patch = json!({"metadata": {"labels": {"app": "changed"}}});
    server
        .cluster()
        .patch_merge("pods", "default/pod-7", patch)
        .unwrap();
    server.cluster().delete("pods", "default/pod-8").unwrap();
    converge(&server, "pods", &typed, &histories[0])
        .await
        .unwrap();
    converge(&server, "pods", &packed, &histories[1])
        .await
        .unwrap();
    converge(&server, "pods", &metadata, &histories[2])
        .await
        .unwrap();
    converge(&server, "pods", &dynamic, &histories[3])
        .await
        .unwrap();
    for history in &histories {
        assert_eq!(history.counts(), (200, 1, 1));
    }
    for pod in typed.store().list() {
        let key = informers::ObjectName::of(&*pod);
        assert_eq!(packed.store().get(&key).unwrap().decode().unwrap(), *pod);
        let meta = metadata.store().get(&key).unwrap();
        assert_eq!(meta.metadata, pod.metadata);
        let value = dynamic.store().get(&key).unwrap();
        assert_eq!((value.api_version(), value.kind()), ("v1", "Pod"));
        assert_eq!(value.decode_as::<Pod>().unwrap(), *pod);
        for label in ["app", "tier", "none"] {
            let expected = pod.label(label);
            assert_eq!(
                [
                    packed.store().get(&key).unwrap().label(label),
                    meta.label(label),
                    value.label(label)
                ],
                [expected; 3]
            );
        }
    }
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

/// Starts an informer of pods and gives its store by name once it has synced.
async fn pods_of(factory: &SharedInformerFactory) -> BTreeMap<String, Arc<Pod>> {
    let pods = factory.informer::<Pod>();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    assert_eq!(pods.store().undecodable(), []);
    let named = |pod: Arc<Pod>| (pod.metadata.name.clone().unwrap(), pod);
    pods.store().list().into_iter().map(named).collect()
}

fn pod(name: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status,
        "metadata": {"name": name, "namespace": "default"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_empty_at_any_depth() {
    // B17
    let server = FakeApiServer::start().await.unwrap();
    let deep = json!({"containers": [{"name": "a", "image": "a", "env": null, "resources": null, "ports": null}], "tolerations": null});
    let nulls = [
        pod(
            "shallow",
            &json!({"containers": null, "nodeSelector": null}),
            &json!({"conditions": null}),
        ),
        pod("deep", &deep, &Value::Null),
    ];
    for object in nulls {
        server.cluster().create(object).unwrap();
    }
    // It is on the wire as it was given.
    let sent = server.cluster().get("pods", "default/shallow").unwrap();
    assert!(
        sent["spec"].as_object().unwrap().contains_key("containers"),
        "{sent}"
    );
    let factory = factory(&server);
    let pods = pods_of(&factory).await;
    let spec = |name: &str| pods[name].spec.clone().unwrap();
    assert!(spec("shallow").containers.is_empty());
    assert!(spec("shallow").node_selector.unwrap_or_default().is_empty());
    assert_eq!(spec("deep").containers.len(), 1);
    assert!(
        spec("deep").containers[0]
            .ports
            .clone()
            .unwrap_or_default()
            .is_empty()
    );
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_numbers_are_quantities_and_ports_are_numbers_or_names() {
    // B18
    let server = FakeApiServer::start().await.unwrap();
    let probe = |port: Value| json!({"httpGet": {"path": "/", "port": port}});
    let spec = json!({"containers": [
        {"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "500m"}}, "livenessProbe": probe(json!(8080))},
        {"name": "b", "livenessProbe": probe(json!("http"))},
    ]});
    // One that is quite right is not affected in any case.
    let plain = json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]});
    server
        .cluster()
        .create(pod("numbers", &spec, &json!({})))
        .unwrap();
    server
        .cluster()
        .create(pod("plain", &plain, &json!({})))
        .unwrap();
    let factory = factory(&server);
    let pods = pods_of(&factory).await;
    let containers = &pods["numbers"].spec.as_ref().unwrap().containers;
    let limits = containers[0]
        .resources
        .as_ref()
        .unwrap()
        .limits
        .as_ref()
        .unwrap();
    assert_eq!(
        (
            limits["nvidia.com/gpu"].0.as_str(),
            limits["cpu"].0.as_str()
        ),
        ("1", "500m")
    );
    let ports: Vec<Value> = containers
        .iter()
        .map(|container| container.liveness_probe.as_ref()?.http_get.as_ref())
        .map(|get| serde_json::to_value(&get.unwrap().port).unwrap())
        .collect();
    assert_eq!(ports, [json!(8080), json!("http")]);
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_have_up_to_nine_digits_and_any_offset() {
    // B19
    let server = FakeApiServer::start().await.unwrap();
    let times = [
        (
            "nine",
            "2023-07-26T09:00:00.123456789Z",
            "2023-07-26T09:00:00.123456789Z",
        ),
        ("none", "2023-07-26T09:00:00Z", "2023-07-26T09:00:00Z"),
        (
            "offset",
            "2023-07-26T09:00:00+02:00",
            "2023-07-26T07:00:00Z",
        ),
        (
            "three",
            "2023-07-26T09:00:00.5-01:30",
            "2023-07-26T10:30:00.5Z",
        ),
    ];
    for (name, sent, _) in times {
        server
            .cluster()
            .create(pod(
                name,
                &json!({"containers": []}),
                &json!({"startTime": sent}),
            ))
            .unwrap();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": sent},
            "metadata": {"name": name, "namespace": "default"},
        });
        server.cluster().create(lease).unwrap();
    }
    let factory = factory(&server);
    let leases = factory.informer::<Lease>();
    let pods = pods_of(&factory).await;
    assert_eq!(leases.store().undecodable(), []);
    assert_eq!(
        stored(&leases.store()),
        truth(&server, "leases.coordination.k8s.io")
    );
    for (name, _, meant) in times {
        let start = pods[name]
            .status
            .as_ref()
            .unwrap()
            .start_time
            .as_ref()
            .unwrap();
        assert_eq!(start.0.to_string(), meant, "{name}");
        let lease = leases
            .store()
            .get_by_key(&format!("default/{name}"))
            .unwrap();
        let renew = lease.spec.as_ref().unwrap().renew_time.as_ref().unwrap();
        assert_eq!(renew.0.to_string(), meant, "{name}");
    }
    factory.shutdown(PATIENCE).await.unwrap();
    server.shutdown().await;
}

#[test]
fn own_struct_knows_its_resource_and_labels() {
    let json = widget("a", 1).to_string();
    let widget = <Widget as informers::FromWire>::decoder()
        .decode(json.as_bytes())
        .unwrap();
    assert_eq!((widget.name(), widget.label("shape")), ("a", Some("round")));
    let resource = <Widget as informers::Resource>::api_resource();
    assert_eq!(
        resource.path(Some("x")),
        "/apis/example.com/v1/namespaces/x/widgets"
    );
}
