//! Tests of starting and ending processes, with programs every Unix has.

use super::*;

#[test]
fn tail_is_the_last_lines() {
    assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
    assert_eq!(tail("a\n", 2), "a");
    assert_eq!(tail("", 2), "");
}

#[cfg(unix)]
mod processes {
    use super::*;

    fn shell(script: &str, folder: &tempfile::TempDir) -> Member {
        Member::new(
            "script",
            "sh".into(),
            vec!["-c".into(), script.into()],
            folder.path().join("script.log"),
        )
    }

    fn wait_for_exit(member: &mut Member) -> ExitStatus {
        member
            .child
            .as_mut()
            .expect("it was started")
            .wait()
            .expect("it can be waited for")
    }

    #[test]
    fn output_of_every_start_is_in_the_log() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut member = shell("echo out; echo err >&2", &folder);
        for _ in 0..2 {
            member.start().expect("sh starts");
            assert!(wait_for_exit(&mut member).success());
        }
        assert_eq!(member.log_tail(), "out\nerr\nout\nerr");
    }

    #[test]
    fn exit_status_is_seen() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut member = shell("exit 3", &folder);
        assert!(member.exited().expect("not started").is_none());
        member.start().expect("sh starts");
        wait_for_exit(&mut member);
        let status = member.exited().expect("known").expect("ended");
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn stop_lets_a_process_clean_up() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ready = folder.path().join("ready");
        let script = format!(
            "trap 'echo cleaned; exit 0' TERM; mkdir {}; while true; do sleep 0.01; done",
            ready.display()
        );
        let mut member = shell(&script, &folder);
        member.start().expect("sh starts");
        while !ready.exists() {
            thread::yield_now();
        }
        member.stop(Duration::from_secs(60)).expect("stopped");
        assert_eq!(member.log_tail(), "cleaned");
    }

    #[test]
    fn stop_kills_a_process_that_does_not_listen() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ready = folder.path().join("ready");
        let script = format!(
            "trap '' TERM; mkdir {}; while true; do sleep 0.01; done",
            ready.display()
        );
        let mut member = shell(&script, &folder);
        member.start().expect("sh starts");
        while !ready.exists() {
            thread::yield_now();
        }
        member.stop(Duration::ZERO).expect("killed");
        assert!(member.child.is_none());
    }

    #[test]
    fn start_of_a_missing_program_names_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut member = Member::new(
            "etcd",
            folder.path().join("etcd"),
            Vec::new(),
            folder.path().join("etcd.log"),
        );
        let error = member.start().unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot run "), "{error:#}");
    }
}
