//! From a resource and a representation on the command line to an informer of that type.

use std::sync::Arc;

use informers::{
    ApiResource, Decode, DynamicObject, FromWire, InformerOptions, Object, Packed,
    PartialObjectMetadata, Resource, SharedIndexInformer, SharedInformerFactory, WatchError,
    WatchErrorHandler,
};
use k8s_openapi::api::{
    apps::v1 as apps, autoscaling::v2 as autoscaling, batch::v1 as batch,
    coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
    networking::v1 as networking, policy::v1 as policy, rbac::v1 as rbac, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use serde_json::{Map, Value, json};

use crate::args::{Args, Representation};
use crate::log::{Log, chain, rv};

/// The command line asks for something that there is not.
pub(crate) struct Unsupported(pub(crate) String);

/// Calls `$run` with the compiled type of a resource.
macro_rules! compiled {
    ($resource:expr, $($type:ty),+ $(,)?) => {
        [$((
            <$type as Resource>::api_resource(),
            (|args, factory, log| Box::pin(run::<$type>(args, factory, log))) as Run,
        )),+]
        .into_iter()
        .find(|(resource, _)| is_named(resource, $resource))
    };
}

type Run = for<'a> fn(
    &'a Args,
    &'a SharedInformerFactory,
    &'a Log,
) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Whether `text` names the resource: a plural of core/v1, or `group/version/plural`.
fn is_named(resource: &ApiResource, text: &str) -> bool {
    let full = format!(
        "{}/{}/{}",
        resource.group, resource.version, resource.plural
    );
    match text.matches('/').count() {
        0 => resource.group.is_empty() && resource.version == "v1" && resource.plural == text,
        1 => resource.group.is_empty() && full.trim_start_matches('/') == text,
        _ => {
            full == text
                || full
                    .strip_prefix('/')
                    .is_some_and(|core| text == format!("core/{core}"))
        }
    }
}

fn known(resource: &str) -> Option<(ApiResource, Run)> {
    compiled!(
        resource,
        core::Pod,
        core::Node,
        core::ConfigMap,
        core::Secret,
        core::Service,
        core::Endpoints,
        core::Event,
        core::Namespace,
        core::ServiceAccount,
        core::PersistentVolume,
        core::PersistentVolumeClaim,
        core::ReplicationController,
        core::LimitRange,
        core::ResourceQuota,
        core::PodTemplate,
        apps::Deployment,
        apps::StatefulSet,
        apps::DaemonSet,
        apps::ReplicaSet,
        batch::Job,
        batch::CronJob,
        networking::Ingress,
        networking::NetworkPolicy,
        coordination::Lease,
        rbac::Role,
        rbac::RoleBinding,
        rbac::ClusterRole,
        rbac::ClusterRoleBinding,
        policy::PodDisruptionBudget,
        storage::StorageClass,
        discovery::EndpointSlice,
        autoscaling::HorizontalPodAutoscaler,
        apiextensions::CustomResourceDefinition,
    )
}

/// Runs the informer that the command line asks for, to its end.
pub(crate) async fn watch(
    args: &Args,
    factory: &SharedInformerFactory,
    log: &Log,
) -> Result<(), Unsupported> {
    let compiled = known(&args.resource);
    let resource = match &compiled {
        Some((resource, _)) => resource.clone(),
        None => any_resource(&args.resource)?,
    };
    match (args.representation, compiled) {
        (Representation::Eager, Some((_, run))) => run(args, factory, log).await,
        (Representation::Eager, None) => {
            return Err(Unsupported(format!(
                "there is no compiled type for {}; try --representation dynamic",
                args.resource
            )));
        }
        // Types that fit every resource.
        (Representation::Packed, _) => {
            let decoder = Packed::<DynamicObject>::decoder();
            run_as(args, factory, log, resource, &decoder).await;
        }
        (Representation::Metadata, _) => {
            let decoder = PartialObjectMetadata::<()>::decoder();
            run_as(args, factory, log, resource, &decoder).await;
        }
        (Representation::Dynamic, _) => {
            let informer = factory.dynamic_with_options(resource, args.scope(), options(args));
            observe(args, factory, log, &informer).await;
        }
    }
    Ok(())
}

async fn run_as<T: Object>(
    args: &Args,
    factory: &SharedInformerFactory,
    log: &Log,
    resource: ApiResource,
    decoder: &Arc<dyn Decode<T>>,
) {
    let informer = factory.informer_for(resource, args.scope(), options(args), decoder);
    observe(args, factory, log, &informer).await;
}

/// The resource that `text` names, whatever it is.
fn any_resource(text: &str) -> Result<ApiResource, Unsupported> {
    let parts: Vec<_> = text.split('/').map(str::to_owned).collect();
    match <[String; 3]>::try_from(parts) {
        Ok([group, version, plural]) => {
            let group = if group == "core" {
                String::new()
            } else {
                group
            };
            Ok(ApiResource::from_gvr(group, version, plural))
        }
        Err(parts) if parts.len() == 1 => Ok(ApiResource::from_gvr("", "v1", text.to_owned())),
        Err(_) => Err(Unsupported(format!(
            "{text:?} is neither a plural of core/v1 nor group/version/plural"
        ))),
    }
}

fn options<T: Object>(args: &Args) -> InformerOptions<T> {
    InformerOptions::new()
        .with_queue(args.queue())
        .with_resync_period(args.resync())
        .with_reflector(args.reflector())
}

async fn run<T: Resource + FromWire>(args: &Args, factory: &SharedInformerFactory, log: &Log) {
    let informer = factory.informer_with_options::<T>(args.scope(), options(args));
    observe(args, factory, log, &informer).await;
}

async fn observe<T: Object>(
    args: &Args,
    factory: &SharedInformerFactory,
    log: &Log,
    informer: &SharedIndexInformer<T>,
) {
    let end = tokio::time::Instant::now() + args.run_for();
    let errors = log.clone();
    let handler: WatchErrorHandler = Arc::new(move |failure: &WatchError| {
        let status = failure.error.status();
        let code = status.map(|status| status.code);
        let reason = status.map(|status| status.reason.as_str());
        let reason = reason.filter(|reason| !reason.is_empty());
        errors.error(code, reason, &chain(failure));
    });
    let registered = informer
        .set_watch_error_handler(handler)
        .map_err(|error| error.to_string())
        .and_then(|()| {
            informer
                .add_event_handler(log.clone())
                .map_err(|error| error.to_string())
        });
    let registration = match registered {
        Ok(registration) => registration,
        Err(error) => {
            log.error(None, None, &error);
            return;
        }
    };
    // Ctrl-C ends it early, as the end of its time does.
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    factory.start();
    tokio::select! {
        synced = registration.wait_for_sync() => {
            if synced.is_ok() {
                log.line(&json!({"op": "synced"}));
            }
            tokio::select! {
                _ = &mut interrupt => {}
                () = tokio::time::sleep_until(end) => {}
            }
        }
        _ = &mut interrupt => {}
        () = tokio::time::sleep_until(end) => {}
    }
    // What is in the store has then been told.
    if let Err(late) = factory
        .shutdown_with_drain(std::time::Duration::from_secs(2))
        .await
    {
        tracing::warn!(%late, "the end did not wait any longer");
    }
    let store = informer.store();
    let mut objects = Map::new();
    store.for_each(|name, obj| {
        objects.insert(name.to_string(), Value::from(rv(&**obj)));
    });
    let version = informer.last_sync_resource_version();
    log.line(&json!({
        "op": "store",
        "rv": version.map_or(String::new(), |version| version.to_string()),
        "objects": objects,
    }));
}
