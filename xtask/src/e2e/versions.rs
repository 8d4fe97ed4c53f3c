//! The versions of Kubernetes the suite knows, by minor version.

use std::fmt;
use std::str::FromStr;

/// The etcd that is built beside every version.
pub(super) const ETCD: &str = "3.6.16";

/// A minor version of Kubernetes with the patch release that is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kubernetes {
    minor: u32,
    patch: u32,
    /// The patch release of the kind node image.
    kind_patch: u32,
}

const KNOWN: &[Kubernetes] = &[
    Kubernetes {
        minor: 34,
        patch: 4,
        kind_patch: 0,
    },
    Kubernetes {
        minor: 35,
        patch: 4,
        kind_patch: 0,
    },
    Kubernetes {
        minor: 36,
        patch: 3,
        kind_patch: 1,
    },
    Kubernetes::NEWEST,
];

impl Kubernetes {
    /// The version that is used where none is named.
    pub(super) const NEWEST: Self = Self {
        minor: 37,
        patch: 2,
        kind_patch: 0,
    };

    /// The version of the module `k8s.io/kubernetes`, such as `v1.37.2`.
    pub(super) fn module(self) -> String {
        format!("v1.{}.{}", self.minor, self.patch)
    }

    /// The version of the staging modules, such as `v0.37.2` for `k8s.io/api`.
    pub(super) fn staging(self) -> String {
        format!("v0.{}.{}", self.minor, self.patch)
    }

    /// The number after the first dot.
    pub(super) fn minor(self) -> u32 {
        self.minor
    }

    /// The node image of kind.
    pub(super) fn kind_image(self) -> String {
        format!("kindest/node:v1.{}.{}", self.minor, self.kind_patch)
    }
}

impl fmt::Display for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

impl FromStr for Kubernetes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        KNOWN
            .iter()
            .find(|known| known.to_string() == text)
            .copied()
            .ok_or_else(|| {
                let known: Vec<String> = KNOWN.iter().map(ToString::to_string).collect();
                format!("known versions: {}", known.join(", "))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_version_stands_for_its_patch_release() {
        let version: Kubernetes = "1.37".parse().expect("a known version");
        assert_eq!(version.module(), "v1.37.2");
        assert_eq!(version.staging(), "v0.37.2");
        assert_eq!(version.kind_image(), "kindest/node:v1.37.0");
        assert_eq!(version, Kubernetes::NEWEST);
    }

    #[test]
    fn unknown_version_is_answered_with_the_known_ones() {
        assert_eq!(
            "1.20".parse::<Kubernetes>(),
            Err("known versions: 1.34, 1.35, 1.36, 1.37".to_owned())
        );
    }
}
