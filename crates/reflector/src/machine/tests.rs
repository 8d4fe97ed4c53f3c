//! The decisions as data: what came, and what comes next.

use super::*;
