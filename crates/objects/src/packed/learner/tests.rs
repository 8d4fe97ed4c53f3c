//! When the learner asks for a training.

use super::{Learner, SAMPLE_BYTES, SAMPLES, STRIDE, WINDOW};

/// Shows `count` objects of 1,000 bytes packed into `packed`; after how many objects each
/// training was asked for, and how many samples it got.
fn show(learner: &mut Learner, count: u32, packed: usize, live: usize) -> Vec<(u32, usize)> {
    let mut asked = Vec::new();
    for object in 1..=count {
        if let Some(samples) = learner.observe(&[b'x'; 1000], packed, || live) {
            asked.push((object, samples.len()));
            learner.trained();
        }
    }
    asked
}

#[test]
fn learner_trains_from_first_objects_then_from_spread_ones_then_never_without_need() {
    let mut learner = Learner::new();
    let first = u32::try_from(SAMPLES).unwrap();
    let asked = show(&mut learner, 100_000, 100, usize::MAX);
    assert_eq!(asked, [(first, SAMPLES), (first + first * STRIDE, SAMPLES)]);
}

#[test]
fn learner_trains_again_when_objects_pack_worse() {
    let mut learner = Learner::new();
    show(&mut learner, 20_000, 100, usize::MAX);
    assert_eq!(show(&mut learner, 20_000, 115, usize::MAX), []);
    let asked = show(&mut learner, 4 * WINDOW, 130, usize::MAX);
    assert_eq!(asked.len(), 1);
    // What is normal now is no reason to train again.
    assert_eq!(show(&mut learner, 100_000, 130, usize::MAX), []);
}

#[test]
fn learner_small_collection_gets_no_dictionary() {
    let mut learner = Learner::new();
    assert_eq!(show(&mut learner, 10_000, 100, 20), []);
    // It has grown.
    assert_eq!(show(&mut learner, 100, 100, 64).len(), 1);
}

#[test]
fn learner_large_objects_fill_the_samples_sooner() {
    let mut learner = Learner::new();
    let large = vec![b'x'; 1 << 20];
    let mut objects = 0;
    let samples = loop {
        objects += 1;
        if let Some(samples) = learner.observe(&large, 1, || usize::MAX) {
            break samples;
        }
    };
    assert_eq!(objects, 32);
    assert!(samples.iter().map(|sample| sample.len()).sum::<usize>() <= SAMPLE_BYTES);
}
