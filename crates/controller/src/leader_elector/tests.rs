//! Electors against an API server in the test process, in real time with short leases.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers::{Client, Config};
use informers_fake_apiserver::{FakeApiServer, Fault, Verb};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{LeaderElectionOptions, LeaderElector};
use crate::{LeaderEvent, LeaseDurations};

fn elector(server: &FakeApiServer, identity: &str) -> LeaderElector {
    let client = Client::new(Config::new(&server.url()).unwrap()).unwrap();
    let durations = LeaseDurations {
        lease_duration: Duration::from_secs(1),
        renew_deadline: Duration::from_millis(600),
        retry_period: Duration::from_millis(50),
    };
    let options = LeaderElectionOptions::new("default", "widgets", identity);
    LeaderElector::new(client, options.with_durations(durations)).unwrap()
}

fn holder(server: &FakeApiServer) -> String {
    let lease = server
        .cluster()
        .get("leases.coordination.k8s.io", "default/widgets")
        .unwrap();
    let holder = lease["spec"]["holderIdentity"].as_str();
    holder.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn second_elector_leads_after_the_first_released() {
    let server = FakeApiServer::start().await.unwrap();
    let (a, b) = (elector(&server, "a"), elector(&server, "b"));
    let (watching, stop) = (b.monitor(), CancellationToken::new());
    let (led_a, a_leads) = oneshot::channel();
    let first = a.run(stop.clone(), |stop| async move {
        led_a.send(()).unwrap();
        stop.cancelled().await;
        "done"
    });
    let second = async {
        a_leads.await.unwrap();
        let never = CancellationToken::new();
        let work = |_| async { (holder(&server), stop.is_cancelled()) };
        let follow = async {
            let mut monitor = watching.clone();
            while monitor.leader().as_deref() != Some("a") {
                assert!(monitor.changed().await);
            }
            assert!(!monitor.is_leader());
            stop.cancel();
            pending::<()>().await;
        };
        tokio::select! {
            led = b.run(never, work) => led.unwrap().unwrap(),
            () = follow => unreachable!("it waits for ever"),
        }
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first, Ok(Some("done")));
    assert_eq!(second, ("b".to_owned(), true));
    // It was given back when its work had ended.
    assert_eq!(holder(&server), "");
    server.shutdown().await;
}

#[tokio::test]
async fn leader_without_server_is_told_and_its_work_dropped() {
    struct Dropped(Arc<Mutex<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = true;
        }
    }
    let server = FakeApiServer::start().await.unwrap();
    let a = elector(&server, "a");
    let (monitor, dropped) = (a.monitor(), Arc::new(Mutex::new(false)));
    let guard = Dropped(Arc::clone(&dropped));
    let faults = server.faults();
    let lost = a.run(CancellationToken::new(), |_| async move {
        let _guard = guard;
        faults.inject(Fault::status(500).on_resource("leases"));
        pending::<()>().await;
    });
    let lost = lost.await.unwrap_err();
    assert_eq!(lost.replaced_by(), None);
    assert_eq!(
        lost.to_string(),
        "leadership lost: the lease default/widgets was not renewed in time"
    );
    assert!(*dropped.lock().unwrap());
    assert!(!monitor.is_leader());
    assert_eq!(holder(&server), "a");
    server.shutdown().await;
}

#[tokio::test]
async fn leader_survives_an_unanswered_renewal() {
    let server = FakeApiServer::start().await.unwrap();
    let a = elector(&server, "a");
    let (mut monitor, faults) = (a.monitor(), server.faults());
    let led = a.run(CancellationToken::new(), |_| async move {
        faults.inject(Fault::hang().on(Verb::Update).times(1));
        // The next renewals that succeed came after the one without an answer.
        for _ in 0..3 {
            assert!(monitor.changed().await);
        }
        monitor.check(Duration::ZERO).unwrap();
        monitor.is_leader()
    });
    assert_eq!(led.await, Ok(Some(true)));
    server.shutdown().await;
}

#[tokio::test]
async fn cancelled_candidate_leaves_without_having_worked() {
    let server = FakeApiServer::start().await.unwrap();
    let (a, b) = (elector(&server, "a"), elector(&server, "b"));
    let ran = a.run(CancellationToken::new(), |_| async {
        let cancel = CancellationToken::new();
        let mut monitor = b.monitor();
        let cancelling = async {
            assert!(monitor.changed().await);
            cancel.cancel();
        };
        let (ran, ()) = tokio::join!(b.run(cancel.clone(), |_| async {}), cancelling);
        ran
    });
    assert_eq!(ran.await, Ok(Some(Ok(None))));
    server.shutdown().await;
}

#[tokio::test]
async fn observer_hears_of_the_whole_term() {
    let server = FakeApiServer::start().await.unwrap();
    let client = Client::new(Config::new(&server.url()).unwrap()).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let options = LeaderElectionOptions::new("default", "widgets", "a").with_observer({
        let heard = Arc::clone(&heard);
        move |event| heard.lock().unwrap().push(event.clone())
    });
    let a = LeaderElector::new(client, options).unwrap();
    a.run(CancellationToken::new(), |_| async {}).await.unwrap();
    assert_eq!(
        *heard.lock().unwrap(),
        [
            LeaderEvent::NewLeader(Some("a".to_owned())),
            LeaderEvent::StartedLeading,
            LeaderEvent::StoppedLeading,
            LeaderEvent::NewLeader(None),
        ]
    );
    server.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn check_fails_for_a_leader_that_stood_still() {
    let (sender, state) = tokio::sync::watch::channel(super::State::default());
    let monitor = super::LeaderMonitor {
        identity: Arc::from("a"),
        lease_duration: Duration::from_secs(15),
        state,
    };
    tokio::time::advance(Duration::from_secs(100)).await;
    monitor.check(Duration::ZERO).unwrap();
    sender.send_modify(|state| state.renewed_at = Some(tokio::time::Instant::now()));
    tokio::time::advance(Duration::from_secs(20)).await;
    monitor.check(Duration::from_secs(5)).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let error = monitor.check(Duration::from_secs(5)).unwrap_err();
    assert_eq!(error.to_string(), "the lease was not renewed for 21s");
}
