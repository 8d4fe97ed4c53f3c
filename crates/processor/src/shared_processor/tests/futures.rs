//! Async handlers and streams.

use futures_util::StreamExt;

use super::*;
use crate::test_objects::text;

async fn next(subscription: &mut Subscription<Thing>) -> Option<String> {
    subscription.next().await.map(|told| text(&told))
}

#[tokio::test(start_paused = true)]
async fn async_handler_is_called_one_after_another() {
    let processor = inline();
    let log = Log::default();
    {
        let log = log.clone();
        processor
            .add_async_listener(
                move |notification: Notification<Thing>| {
                    let log = log.clone();
                    async move {
                        log.push(format!("begin {}", text(&notification)));
                        tokio::time::sleep(SECOND).await;
                        log.push("end");
                    }
                },
                HandlerOptions::new(),
                vec![thing("a", 1)],
                synced(),
            )
            .unwrap();
    }
    processor.start();
    processor.distribute(update("a", 1, 2), false);
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(
        log.lines(),
        ["begin initial a 1", "end", "begin update a 1>2", "end"]
    );
}

#[tokio::test(start_paused = true)]
async fn subscription_yields_the_snapshot_then_every_change_then_ends() {
    let processor = inline();
    processor.start();
    let mut subscription = processor
        .subscribe(HandlerOptions::new(), vec![thing("a", 1)], synced())
        .unwrap();
    let registration = subscription.registration().clone();
    assert_eq!(registration.name(), "subscription");
    processor.distribute(update("a", 1, 2), false);
    assert_eq!(registration.stats().depth, 2);
    assert!(!registration.has_synced());
    assert_eq!(next(&mut subscription).await.unwrap(), "initial a 1");
    assert!(registration.has_synced());
    assert_eq!(next(&mut subscription).await.unwrap(), "update a 1>2");
    assert_eq!(registration.stats().delivered, 2);

    let later = async {
        settle().await;
        processor.distribute(delete("a", 2), false);
    };
    let (told, ()) = tokio::join!(next(&mut subscription), later);
    assert_eq!(told.unwrap(), "delete a 2");

    let (end, late) = tokio::join!(
        next(&mut subscription),
        processor.shutdown(ShutdownMode::Drop, None)
    );
    assert_eq!(end, None);
    assert!(late.is_empty());
    assert_eq!(next(&mut subscription).await, None);
}

#[tokio::test(start_paused = true)]
async fn subscription_dropped_is_removed() {
    let processor = inline();
    let subscription = processor
        .subscribe(HandlerOptions::new(), Vec::new(), synced())
        .unwrap();
    let registration = subscription.registration().clone();
    drop(subscription);
    assert!(registration.removed());
    assert!(processor.registrations().is_empty());
    registration.remove_and_wait().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn subscription_in_a_drain_is_waited_for_or_late() {
    let processor = inline();
    let mut read = processor
        .subscribe(HandlerOptions::new(), vec![thing("a", 1)], synced())
        .unwrap();
    let unread = processor
        .subscribe(
            HandlerOptions::new().with_name("unread"),
            vec![thing("a", 1)],
            synced(),
        )
        .unwrap();
    let deadline = Instant::now() + SECOND;
    let reading = async {
        settle().await;
        let mut told = Vec::new();
        while let Some(line) = next(&mut read).await {
            told.push(line);
        }
        told
    };
    let (told, late) = tokio::join!(
        reading,
        processor.shutdown(ShutdownMode::Drain, Some(deadline))
    );
    assert_eq!(told, ["initial a 1"]);
    assert_eq!(late, [Arc::from("unread")]);
    drop(unread);
}
