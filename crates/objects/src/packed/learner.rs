//! [`Learner`]: which objects to learn a dictionary from, and when.

/// Decides, object by object, what to sample and when to train. Pure: what it asks for is
/// done by its caller.
///
/// The first dictionary comes from the first [`SAMPLES`] objects, so that not many are packed
/// without. As they are often of one kind, a second comes from objects spread over the next
/// [`SAMPLES`] × [`STRIDE`]. After that, only one that is needed: when the objects of late
/// are packed a fifth worse than when the dictionary was new.
pub(super) struct Learner {
    generation: u32,
    state: State,
}

enum State {
    /// Every `stride`th object is kept, to train with.
    Sampling {
        samples: Vec<Box<[u8]>>,
        bytes: usize,
        stride: u32,
        /// Objects until the next sample.
        skip: u32,
    },
    /// Watches how well objects are packed.
    Watching {
        /// Packed bytes per thousand of JSON, of the first window.
        at_first: Option<u64>,
        window: Window,
    },
}

#[derive(Default)]
struct Window {
    objects: u32,
    json: u64,
    packed: u64,
}

/// Objects to learn from.
const SAMPLES: usize = 100;
/// Bytes to learn from, so that training takes tens of milliseconds at most.
const SAMPLE_BYTES: usize = 1 << 20;
/// Bytes of one object to learn from.
const LONGEST_SAMPLE: usize = 32 << 10;
/// Objects from one sample to the next, once there is a dictionary.
const STRIDE: u32 = 32;
/// Objects in a window, for the third dictionary; twice as many for each after.
const WINDOW: u32 = 4096;
/// Collections smaller than this get no dictionary: it would outweigh them.
const SMALL_COLLECTION: usize = 64;

impl Learner {
    pub(super) fn new() -> Self {
        Self {
            generation: 0,
            state: State::sampling(1),
        }
    }

    /// Notes an object and the bytes it was packed into. `live` answers how many objects the
    /// present dictionary has. With the samples to train with, if it is time: whether that
    /// gave a dictionary is to be [noted](Self::trained).
    pub(super) fn observe(
        &mut self,
        json: &[u8],
        packed: usize,
        live: impl FnOnce() -> usize,
    ) -> Option<Vec<Box<[u8]>>> {
        match &mut self.state {
            State::Sampling { skip, .. } if *skip > 1 => *skip -= 1,
            State::Sampling {
                samples,
                bytes,
                stride,
                skip,
            } => {
                *skip = *stride;
                let sample = &json[..json.len().min(LONGEST_SAMPLE)];
                *bytes += sample.len();
                samples.push(sample.into());
                if samples.len() < SAMPLES && *bytes < SAMPLE_BYTES {
                    return None;
                }
                if self.generation == 0 && live() < SMALL_COLLECTION.min(samples.len()) {
                    self.state = State::sampling(1);
                    return None;
                }
                let samples = std::mem::take(samples);
                // Until the training is over, nothing is sampled.
                self.state = State::watching();
                return Some(samples);
            }
            State::Watching { at_first, window } => {
                window.objects += 1;
                window.json += json.len() as u64;
                window.packed += packed as u64;
                if window.objects < WINDOW << self.generation.saturating_sub(2).min(8) {
                    return None;
                }
                let now = window.packed * 1000 / window.json.max(1);
                *window = Window::default();
                let first = *at_first.get_or_insert(now);
                if now > first + first / 5 {
                    self.state = State::sampling(STRIDE);
                }
            }
        }
        None
    }

    /// The training asked for is over.
    pub(super) fn trained(&mut self) {
        self.generation += 1;
        self.state = if self.generation == 1 {
            State::sampling(STRIDE)
        } else {
            State::watching()
        };
    }
}

impl State {
    fn sampling(stride: u32) -> Self {
        Self::Sampling {
            samples: Vec::new(),
            bytes: 0,
            stride,
            skip: stride,
        }
    }

    fn watching() -> Self {
        Self::Watching {
            at_first: None,
            window: Window::default(),
        }
    }
}

#[cfg(test)]
mod tests;
