//! [`LeaseDurations`]: the three times of an election and what must hold between them.

use std::fmt;
use std::time::Duration;

/// Delays between attempts to get a lease are stretched by up to this much of themselves,
/// so that candidates do not move in step. client-go's `JitterFactor`.
pub(crate) const JITTER: f64 = 1.2;

/// The times of an election. The default is client-go's usual: 15 s, 10 s, 2 s.
///
/// A shorter lease is taken over sooner after a crash and costs more requests: a leader
/// makes one write each `retry_period`, a candidate one read each 1 to 2.2 of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseDurations {
    /// How long candidates wait, from the last change of the lease they saw, before they
    /// take it over. Written to the lease in whole seconds, rounded down.
    pub lease_duration: Duration,
    /// How long a leader goes on without having renewed before it gives up.
    pub renew_deadline: Duration,
    /// How long between attempts.
    pub retry_period: Duration,
}

impl Default for LeaseDurations {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Why the times of an election do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidDurations {
    /// The lease is shorter than a second, which a lease cannot say.
    LeaseTooShort,
    /// The whole seconds of the lease are not longer than the renew deadline: there could
    /// be two leaders.
    LeaseWithinRenewDeadline,
    /// The renew deadline is not longer than 1.2 retry periods: a leader would give up
    /// before its second attempt.
    RenewDeadlineWithinRetry,
    /// The retry period is zero.
    NoRetryPeriod,
}

impl LeaseDurations {
    /// Checks client-go's rules.
    pub(crate) fn validate(&self) -> Result<(), InvalidDurations> {
        if self.retry_period.is_zero() {
            return Err(InvalidDurations::NoRetryPeriod);
        }
        if self.lease_duration.as_secs() == 0 {
            return Err(InvalidDurations::LeaseTooShort);
        }
        if Duration::from_secs(self.lease_duration.as_secs()) <= self.renew_deadline {
            return Err(InvalidDurations::LeaseWithinRenewDeadline);
        }
        if self.renew_deadline <= self.retry_period.mul_f64(JITTER) {
            return Err(InvalidDurations::RenewDeadlineWithinRetry);
        }
        Ok(())
    }

    /// What the lease says.
    pub(crate) fn lease_seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }
}

impl fmt::Display for InvalidDurations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseTooShort => "the lease must last a second at least",
            Self::LeaseWithinRenewDeadline => {
                "the lease, in whole seconds, must last longer than the renew deadline"
            }
            Self::RenewDeadlineWithinRetry => {
                "the renew deadline must be longer than 1.2 retry periods"
            }
            Self::NoRetryPeriod => "the retry period must not be zero",
        })
    }
}

impl std::error::Error for InvalidDurations {}
