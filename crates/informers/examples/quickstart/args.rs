//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// A tour of shared informers. Without options it starts an API server in its own
/// process, with 1,000 pods on 20 nodes. With a cluster given it only reads.
#[derive(Debug, Parser)]
#[command(name = "quickstart")]
pub(crate) struct Args {
    /// Read the cluster of this kubeconfig file.
    #[arg(long)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Read the cluster of this context of the kubeconfig.
    #[arg(long)]
    pub(crate) context: Option<String>,
    /// Read the cluster that this pod runs in.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) in_cluster: bool,
    /// Keep going until Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,
}

impl Args {
    /// Whether no cluster was given.
    pub(crate) fn is_embedded(&self) -> bool {
        self.kubeconfig.is_none() && self.context.is_none() && !self.in_cluster
    }
}
