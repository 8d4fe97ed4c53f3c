//! From one object's bytes to the object, in each representation.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use informers_benches::{SmallPod, fixtures};
use informers_objects::{Decode, FromWire, MetaScan, Packed, StripManagedFields};
use k8s_openapi::api::core::v1::Pod;

const COUNT: usize = 500;

fn each<R>(bencher: Bencher<'_, '_>, mut decode: impl FnMut(&[u8]) -> R) {
    let pods = fixtures::pods(COUNT);
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        for pod in &pods {
            black_box(decode(pod));
        }
    });
}

#[divan::bench]
fn metadata_scan(bencher: Bencher<'_, '_>) {
    each(bencher, |pod| {
        MetaScan::of(pod).name().map(|name| name.len())
    });
}

#[divan::bench]
fn eager(bencher: Bencher<'_, '_>) {
    let decoder = Pod::decoder();
    each(bencher, |pod| decoder.decode(pod));
}

#[divan::bench]
fn eager_without_managed_fields(bencher: Bencher<'_, '_>) {
    let decoder = StripManagedFields::new(Pod::decoder());
    each(bencher, |pod| decoder.decode(pod));
}

#[divan::bench]
fn projection(bencher: Bencher<'_, '_>) {
    let decoder = SmallPod::decoder();
    each(bencher, |pod| decoder.decode(pod));
}

/// The objects stay while others are packed, so that a dictionary is worth its training.
#[divan::bench]
fn pack(bencher: Bencher<'_, '_>) {
    let decoder = Packed::<Pod>::decoder();
    let _held = held(&*decoder);
    each(bencher, |pod| decoder.decode(pod));
}

#[divan::bench]
fn unpack_to_json(bencher: Bencher<'_, '_>) {
    let held = held(&*Packed::<Pod>::decoder());
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        for pod in &held {
            black_box(pod.with_json(<[u8]>::len)).expect("it was packed");
        }
    });
}

#[divan::bench]
fn unpack_and_decode(bencher: Bencher<'_, '_>) {
    let held = held(&*Packed::<Pod>::decoder());
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        for pod in &held {
            black_box(pod.decode()).expect("it decodes");
        }
    });
}

fn held(decoder: &dyn Decode<Packed<Pod>>) -> Vec<Packed<Pod>> {
    let learnt_from: Vec<_> = fixtures::pods(2000)
        .iter()
        .map(|pod| decoder.decode(pod).expect("it packs"))
        .collect();
    let held = fixtures::pods(COUNT)
        .iter()
        .map(|pod| decoder.decode(pod).expect("it packs"))
        .collect();
    drop(learnt_from);
    held
}
