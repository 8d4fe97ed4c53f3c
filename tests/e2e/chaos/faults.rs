//! [`Fault`]: what is broken, and mended again.

use std::time::Duration;

use anyhow::Result;
use informers_tests::TcpProxy;
use tokio::time::sleep;

use super::Chaos;
use crate::control::{Command, Control};

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The API server crashes and is started again.
    ApiserverKilled,
    /// It is restarted in good order.
    ApiserverRestarted,
    /// It crashes, and the database forgets its history before it is back.
    ApiserverKilledAndCompacted,
    /// The database is away for a while.
    EtcdStopped,
    /// Connections are closed, and new ones at once.
    NetworkCut,
    /// Connections are refused.
    NetworkRefused,
    /// Connections stay, and every byte is lost.
    BlackHole,
    /// Short cuts, one after another.
    Flapping,
    /// One part of the program is cut off, the history forgotten meanwhile.
    CompactedWhileCutOff,
    /// Everything is deleted while all are cut off.
    EmptiedWhileCutOff,
    /// The API server has another certificate.
    CertificateRotated,
}

impl Fault {
    pub(super) const ALL: &[Fault] = &[
        Self::ApiserverKilled,
        Self::ApiserverRestarted,
        Self::ApiserverKilledAndCompacted,
        Self::EtcdStopped,
        Self::NetworkCut,
        Self::NetworkRefused,
        Self::BlackHole,
        Self::Flapping,
        Self::CompactedWhileCutOff,
        Self::EmptiedWhileCutOff,
        Self::CertificateRotated,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ApiserverKilled => "apiserver-killed",
            Self::ApiserverRestarted => "apiserver-restarted",
            Self::ApiserverKilledAndCompacted => "apiserver-killed-and-compacted",
            Self::EtcdStopped => "etcd-stopped",
            Self::NetworkCut => "network-cut",
            Self::NetworkRefused => "network-refused",
            Self::BlackHole => "black-hole",
            Self::Flapping => "flapping",
            Self::CompactedWhileCutOff => "compacted-while-cut-off",
            Self::EmptiedWhileCutOff => "emptied-while-cut-off",
            Self::CertificateRotated => "certificate-rotated",
        }
    }

    /// Whether the provider lets it happen.
    pub(super) fn can_strike(self, control: &Control) -> bool {
        match self {
            Self::ApiserverKilled => control.can(Command::KillApiserver),
            Self::ApiserverRestarted => control.can(Command::RestartApiserver),
            Self::EtcdStopped => control.can(Command::StopEtcd),
            Self::ApiserverKilledAndCompacted | Self::CompactedWhileCutOff => {
                control.can(Command::Compact)
            }
            Self::CertificateRotated => control.can(Command::RotateServingCertificate),
            Self::NetworkCut
            | Self::NetworkRefused
            | Self::BlackHole
            | Self::Flapping
            | Self::EmptiedWhileCutOff => true,
        }
    }

    /// Breaks it, waits, and mends it.
    pub(super) async fn strike(self, chaos: &Chaos, rng: &mut fastrand::Rng) -> Result<()> {
        let control = chaos.target.control();
        match self {
            Self::ApiserverKilled => {
                control.execute(Command::KillApiserver).await?;
                hold(rng, 200, 3000).await;
                control.execute(Command::StartApiserver).await?;
            }
            Self::ApiserverRestarted => control.execute(Command::RestartApiserver).await?,
            Self::ApiserverKilledAndCompacted => {
                control.execute(Command::KillApiserver).await?;
                control.execute(Command::Compact).await?;
                control.execute(Command::StartApiserver).await?;
            }
            Self::EtcdStopped => {
                control.execute(Command::StopEtcd).await?;
                hold(rng, 5000, 30_000).await;
                control.execute(Command::StartEtcd).await?;
            }
            Self::NetworkCut => {
                let proxy = some(chaos, rng);
                proxy.cut();
                hold(rng, 100, 3000).await;
                proxy.open();
            }
            Self::NetworkRefused => {
                chaos.proxies().for_each(TcpProxy::refuse);
                hold(rng, 100, 3000).await;
                chaos.proxies().for_each(TcpProxy::open);
            }
            Self::BlackHole => {
                let proxy = some(chaos, rng);
                proxy.black_hole();
                hold(rng, 1000, 8000).await;
                proxy.open();
            }
            Self::Flapping => {
                for _ in 0..10 {
                    let proxy = some(chaos, rng);
                    proxy.cut();
                    hold(rng, 1, 50).await;
                    proxy.open();
                    hold(rng, 1, 300).await;
                }
            }
            Self::CompactedWhileCutOff => {
                let proxy = some(chaos, rng);
                proxy.refuse();
                hold(rng, 500, 1500).await;
                control.execute(Command::Compact).await?;
                // It remembers for a while what the database has forgotten.
                control.execute(Command::RestartApiserver).await?;
                proxy.open();
            }
            Self::EmptiedWhileCutOff => {
                chaos.proxies().for_each(TcpProxy::refuse);
                let all = chaos.target.set("configmaps", super::SET);
                let emptied = chaos.target.api().delete(&all).await;
                chaos.proxies().for_each(TcpProxy::open);
                emptied?;
            }
            Self::CertificateRotated => {
                control.execute(Command::RotateServingCertificate).await?;
                control.execute(Command::RestartApiserver).await?;
            }
        }
        Ok(())
    }
}

/// The way of one part of the program.
fn some<'a>(chaos: &'a Chaos, rng: &mut fastrand::Rng) -> &'a TcpProxy {
    &chaos.sides[rng.usize(..chaos.sides.len())].proxy
}

/// How long a fault lasts, in milliseconds.
async fn hold(rng: &mut fastrand::Rng, least: u64, most: u64) {
    sleep(Duration::from_millis(rng.u64(least..=most))).await;
}
