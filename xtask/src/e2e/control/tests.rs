//! Tests of the control server with a double in place of the servers.

use anyhow::bail;

use super::*;

/// A control server that notes the commands and fails those in `failing`.
fn control(failing: Option<Command>) -> (Control, Arc<Mutex<Vec<Command>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let control = Control::serve(Arc::new(move |command| {
        note.lock().expect("not poisoned").push(command);
        if failing == Some(command) {
            bail!("late\nits log: x");
        }
        Ok(())
    }));
    (control.expect("a free port"), seen)
}

fn ask(stream: &TcpStream, command: &str) -> String {
    let mut writer = stream;
    writer.write_all(command.as_bytes()).expect("sent");
    let mut answer = String::new();
    BufReader::new(stream)
        .read_line(&mut answer)
        .expect("an answer");
    answer
}

#[test]
fn commands_of_one_connection_are_carried_out_in_order() {
    let (control, seen) = control(None);
    let stream = TcpStream::connect(control.address()).expect("connected");
    assert_eq!(ask(&stream, "stop-etcd\n"), "ok\n");
    assert_eq!(ask(&stream, "compact\r\n"), "ok\n");
    assert_eq!(
        *seen.lock().expect("not poisoned"),
        [Command::StopEtcd, Command::Compact]
    );
}

#[test]
fn failure_is_answered_on_one_line() {
    let (control, _) = control(Some(Command::StartApiserver));
    let stream = TcpStream::connect(control.address()).expect("connected");
    assert_eq!(
        ask(&stream, "start-apiserver\n"),
        "error late | its log: x\n"
    );
    assert_eq!(ask(&stream, "kill-apiserver\n"), "ok\n");
}

#[test]
fn unknown_command_is_answered_with_the_known_ones() {
    let (control, seen) = control(None);
    let stream = TcpStream::connect(control.address()).expect("connected");
    let answer = ask(&stream, "explode\n");
    assert!(
        answer.starts_with("error unknown command; known are start-apiserver, "),
        "{answer}"
    );
    assert!(seen.lock().expect("not poisoned").is_empty());
}

#[test]
fn drop_ends_the_threads_while_a_client_is_connected() {
    let (control, _) = control(None);
    let stream = TcpStream::connect(control.address()).expect("connected");
    assert_eq!(ask(&stream, "compact\n"), "ok\n");
    // Returns only when every thread has ended.
    drop(control);
    let mut rest = String::new();
    assert_eq!(
        BufReader::new(&stream)
            .read_line(&mut rest)
            .expect("closed"),
        0
    );
}
