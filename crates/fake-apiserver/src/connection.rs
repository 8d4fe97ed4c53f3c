//! One TCP connection: what faults can do to it below TLS and HTTP.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// What a connection's owner is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Close it.
    Close,
    /// Finish what is open and accept nothing more.
    GoAway,
}

/// Steers a connection from outside.
#[derive(Debug)]
pub(crate) struct Control {
    commands: mpsc::UnboundedSender<Command>,
    black_hole: AtomicBool,
    reset: AtomicBool,
    /// Bytes that may still be written before the connection closes; negative: no limit.
    write_budget: AtomicI64,
    /// Bytes a second; 0: no limit.
    read_rate: AtomicU64,
    write_rate: AtomicU64,
}

impl Control {
    pub(crate) fn new() -> (std::sync::Arc<Self>, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let control = Self {
            commands,
            black_hole: AtomicBool::new(false),
            reset: AtomicBool::new(false),
            write_budget: AtomicI64::new(-1),
            read_rate: AtomicU64::new(0),
            write_rate: AtomicU64::new(0),
        };
        (std::sync::Arc::new(control), receiver)
    }

    /// Closes the connection by FIN.
    pub(crate) fn close(&self) {
        self.command(Command::Close);
    }

    /// Closes the connection by RST.
    pub(crate) fn reset(&self) {
        self.reset.store(true, Ordering::Release);
        self.command(Command::Close);
    }

    pub(crate) fn go_away(&self) {
        self.command(Command::GoAway);
    }

    pub(crate) fn black_hole(&self) {
        self.black_hole.store(true, Ordering::Release);
    }

    /// Closes the connection by FIN after so many more bytes.
    pub(crate) fn close_after(&self, bytes: usize) {
        self.write_budget
            .store(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Release);
    }

    pub(crate) fn slow_reads(&self, bytes_per_second: u64) {
        self.read_rate
            .store(bytes_per_second.max(1), Ordering::Release);
    }

    pub(crate) fn slow_writes(&self, bytes_per_second: u64) {
        self.write_rate
            .store(bytes_per_second.max(1), Ordering::Release);
    }

    fn command(&self, command: Command) {
        // The owner may have ended; then there is nothing left to do.
        let _ = self.commands.send(command);
    }
}

/// The socket with its faults.
#[derive(Debug)]
pub(crate) struct FaultyStream {
    stream: TcpStream,
    control: std::sync::Arc<Control>,
    read_pace: Pace,
    write_pace: Pace,
}

impl FaultyStream {
    pub(crate) fn new(stream: TcpStream, control: std::sync::Arc<Control>) -> Self {
        Self {
            stream,
            control,
            read_pace: Pace::default(),
            write_pace: Pace::default(),
        }
    }
}

/// Lets a number of bytes through at each tick of 20 ms.
#[derive(Debug, Default)]
struct Pace {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Pace {
    const TICK: Duration = Duration::from_millis(20);

    /// How many bytes may move now at this rate.
    fn poll_allowance(&mut self, cx: &mut Context<'_>, rate: u64) -> Poll<usize> {
        if let Some(sleep) = &mut self.sleep {
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        Poll::Ready(usize::try_from(rate / 50).unwrap_or(usize::MAX).max(1))
    }

    /// Waits before the next bytes, in proportion to those just moved.
    fn moved(&mut self, bytes: usize, rate: u64) {
        let needed = Duration::from_secs_f64(bytes as f64 / rate as f64);
        self.sleep = Some(Box::pin(tokio::time::sleep_until(
            Instant::now() + needed.min(Self::TICK * 50),
        )));
    }
}

impl AsyncRead for FaultyStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.control.black_hole.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        let rate = this.control.read_rate.load(Ordering::Acquire);
        if rate == 0 {
            return Pin::new(&mut this.stream).poll_read(cx, buf);
        }
        let allowed = ready!(this.read_pace.poll_allowance(cx, rate));
        let mut bytes = vec![0; allowed.min(buf.remaining()).min(16 * 1024)];
        let mut part = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut this.stream).poll_read(cx, &mut part))?;
        let read = part.filled().len();
        buf.put_slice(part.filled());
        this.read_pace.moved(read, rate);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FaultyStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.control.black_hole.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        let mut allowed = buf.len();
        let budget = this.control.write_budget.load(Ordering::Acquire);
        if let Ok(budget) = usize::try_from(budget) {
            if budget == 0 {
                this.control.close();
                return Poll::Pending;
            }
            allowed = allowed.min(budget);
        }
        let rate = this.control.write_rate.load(Ordering::Acquire);
        if rate > 0 {
            allowed = allowed.min(ready!(this.write_pace.poll_allowance(cx, rate)));
        }
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, &buf[..allowed]))?;
        if rate > 0 {
            this.write_pace.moved(written, rate);
        }
        if budget >= 0 {
            this.control
                .close_after(usize::try_from(budget).unwrap_or_default() - written);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.control.black_hole.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.control.black_hole.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

impl Drop for FaultyStream {
    fn drop(&mut self) {
        if self.control.reset.load(Ordering::Acquire) {
            // Without this the close is a FIN; the fault is then weaker, nothing breaks.
            let _ = self.stream.set_zero_linger();
        } else {
            // Sends FIN even while unread input would turn the close into an RST.
            let _ =
                Pin::new(&mut self.stream).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
    }
}
