//! A timer for deadlines that rarely expire. hyper sets one for every head that it waits for; registering and removing each in
//! the runtime's timer wheel was measurable (`cargo xtask bench --only http`, the rows of CPU per request).

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep as Alarm;

/// The timer of one connection, which waits for one deadline at a time. All deadlines share one alarm: it is not moved when a
/// deadline is extended, and only reset when it fires too early.
#[derive(Clone, Default)]
pub(crate) struct LazyTimer(Arc<Mutex<Option<Pin<Box<Alarm>>>>>);

/// A deadline on a connection's shared alarm.
struct Deadline {
    at: Instant,
    timer: LazyTimer,
}

impl Timer for LazyTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline { at, timer: self.clone() })
    }
}

impl Sleep for Deadline {}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.at.into();
        let mut alarm = self.timer.0.lock();
        let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        // Earlier than the alarm: it has to be moved, or the deadline would be missed.
        if alarm.deadline() > at {
            alarm.as_mut().reset(at);
        }
        loop {
            ready!(alarm.as_mut().poll(cx));
            if alarm.deadline() >= at {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(20);

    /// Waits for the given number of ticks, or longer.
    async fn wait(timer: &LazyTimer, ticks: u32) {
        let at = Instant::now() + ticks * TICK;
        timer.sleep_until(at).await;
        assert!(Instant::now() >= at);
    }

    fn is_pending(deadline: &mut Pin<Box<dyn Sleep>>) -> bool {
        deadline.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending()
    }

    #[test]
    fn deadlines_come_when_they_should() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let timer = LazyTimer::default();
            wait(&timer, 3).await;
            wait(&timer, 1).await;
            // One that was given up rings for those that come later, and they sleep on.
            let mut early = timer.sleep(TICK);
            assert!(is_pending(&mut early));
            drop(early);
            wait(&timer, 3).await;
            // One that is far away doesn't keep those waiting that are near.
            let mut late = timer.sleep(10_000 * TICK);
            assert!(is_pending(&mut late));
            wait(&timer, 1).await;
            assert!(is_pending(&mut late));
        });
    }
}
