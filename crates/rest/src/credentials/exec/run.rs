//! One run of a plugin.

use std::io::IsTerminal as _;
use std::process::Stdio;

use tokio::process::Command;

use super::credential::{ExecCredential, exec_info};
use super::error::ExecError;
use super::{ExecConfig, InteractiveMode};

/// As much of stderr goes into an error, in bytes; the end of it.
const MAX_STDERR: usize = 1024;

/// Runs the plugin and reads its answer.
///
/// # Cancel safety
/// Dropping the future kills the plugin.
pub(super) async fn run(
    config: &ExecConfig,
    mode: InteractiveMode,
) -> Result<ExecCredential, ExecError> {
    let terminal = std::io::stdin().is_terminal();
    let interactive = match mode {
        InteractiveMode::Never => false,
        InteractiveMode::IfAvailable => terminal,
        InteractiveMode::Always if terminal => true,
        InteractiveMode::Always => return Err(ExecError::NoTerminal),
    };
    // A prompt must reach the user at once; else what it says is for the error.
    let (stdin, stderr) = if interactive {
        (Stdio::inherit(), Stdio::inherit())
    } else {
        (Stdio::null(), Stdio::piped())
    };
    let mut command = Command::new(&config.command);
    command
        .args(&config.args)
        .envs(config.environment.iter().map(|(name, value)| (name, value)))
        .env("KUBERNETES_EXEC_INFO", exec_info(config, interactive)?)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(stderr)
        .kill_on_drop(true);
    let start = |source| ExecError::Start {
        command: config.command.clone(),
        install_hint: config.install_hint.clone(),
        source,
    };
    let child = command.spawn().map_err(start)?;
    let output = child.wait_with_output().await.map_err(start)?;
    let stderr = tail(&output.stderr);
    if !output.status.success() {
        return Err(ExecError::Failed {
            command: config.command.clone(),
            status: output.status,
            stderr,
        });
    }
    if !stderr.trim().is_empty() {
        tracing::info!(command = %config.command.display(), stderr = stderr.trim(), "exec plugin");
    }
    ExecCredential::parse(&output.stdout, &config.api_version)
}

fn tail(stderr: &[u8]) -> String {
    let start = stderr.len().saturating_sub(MAX_STDERR);
    String::from_utf8_lossy(&stderr[start..]).into_owned()
}
