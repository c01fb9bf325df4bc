//! Latencies and their percentiles.

use std::borrow::Cow;

/// The latencies of many calls, in microseconds.
///
/// Percentiles are by **nearest rank**: of `n` latencies in ascending order, the *p*-th percentile is the one at
/// rank ⌈*p*/100 · *n*⌉. It is always a latency that was measured, never one in between, and unknown if nothing
/// was measured.
///
/// Latencies below 100 ms are kept exactly, longer ones to five significant digits, so that memory is bounded
/// by the number of distinct values and not by the number of calls. Mean and maximum are exact.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    /// Each latency, and how often it was measured, in ascending order.
    counts: Vec<(u64, u64)>,
    /// Latencies that are not in `counts` yet: sorting many at once is cheaper than inserting each.
    fresh: Vec<u64>,
    measured: u64,
    sum: u128,
    max: Option<u64>,
}

impl Latencies {
    /// Adds one latency, in microseconds.
    pub fn add(&mut self, us: u64) {
        const LEAST: usize = 1024;
        self.fresh.push(five_digits(us));
        self.measured += 1;
        self.sum += u128::from(us);
        self.max = self.max.max(Some(us));
        // The batch grows with the total, so that merging costs amortized constant time per latency.
        if self.fresh.len() >= LEAST.max(self.counts.len() / 2) {
            self.counts = self.all_counts().into_owned();
            self.fresh.clear();
        }
    }

    /// Adds the latencies of another.
    pub fn merge(&mut self, other: &Latencies) {
        self.counts = merged(&self.all_counts(), &other.all_counts());
        self.fresh.clear();
        self.measured += other.measured;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The counts of all latencies.
    fn all_counts(&self) -> Cow<'_, [(u64, u64)]> {
        if self.fresh.is_empty() {
            return Cow::Borrowed(&self.counts);
        }
        let mut fresh = self.fresh.clone();
        fresh.sort_unstable();
        let fresh: Vec<(u64, u64)> =
            fresh.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect();
        Cow::Owned(merged(&self.counts, &fresh))
    }

    /// The number of latencies.
    pub fn measured(&self) -> u64 {
        self.measured
    }

    /// The `percent`-th percentile (1 to 100) by nearest rank, or `None` if nothing was measured.
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        // 128 bits, because the product of two 64-bit counts may overflow.
        let rank = (u128::from(percent) * u128::from(self.measured)).div_ceil(100).max(1);
        let mut below = 0u128;
        let counts = self.all_counts();
        let at = counts.iter().find(|(_, count)| {
            below += u128::from(*count);
            below >= rank
        });
        // Rounding to five digits may lift a value above the exact maximum.
        at.map(|(us, _)| self.max.map_or(*us, |max| max.min(*us)))
    }

    /// The mean, rounded to a microsecond, or `None` if nothing was measured.
    pub fn mean(&self) -> Option<u64> {
        let n = u128::from(self.measured);
        let mean = (self.sum + n / 2).checked_div(n)?;
        u64::try_from(mean).ok()
    }

    /// The longest, or `None` if nothing was measured.
    pub fn max(&self) -> Option<u64> {
        self.max
    }
}

impl PartialEq for Latencies {
    fn eq(&self, other: &Self) -> bool {
        self.all_counts() == other.all_counts() && self.sum == other.sum && self.max == other.max
    }
}

impl Eq for Latencies {}

/// Merges two ascending lists.
fn merged(one: &[(u64, u64)], other: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().copied().peekable(), other.iter().copied().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if a.0 == b.0 => {
                let (a, b) = (*a, *b);
                one.next();
                other.next();
                Some((a.0, a.1 + b.1))
            }
            (Some(a), Some(b)) if a.0 > b.0 => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        };
        match next {
            Some(next) => all.push(next),
            None => return all,
        }
    }
}

fn five_digits(us: u64) -> u64 {
    let Some(spare_digits) = us.checked_ilog10().and_then(|log| log.checked_sub(4)) else { return us };
    // Rounded half up: the relative error is at most 0.005 %.
    let unit = 10u64.pow(spare_digits);
    (us / unit).saturating_add(u64::from(us % unit >= unit.div_ceil(2))).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(latencies: &[u64], p50_p95_p99_mean_max: [Option<u64>; 5]) {
        let mut all = Latencies::default();
        latencies.iter().for_each(|&us| all.add(us));
        let found = [all.percentile(50), all.percentile(95), all.percentile(99), all.mean(), all.max()];
        assert_eq!(found, p50_p95_p99_mean_max, "{latencies:?}");
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        check(&[], [None; 5]);
        check(&[0], [Some(0); 5]);
        check(&[7], [Some(7); 5]);
        check(&[15, 20, 35, 40, 50], [Some(35), Some(50), Some(50), Some(32), Some(50)]);
        check(&[1, 2], [Some(1), Some(2), Some(2), Some(2), Some(2)]);
        let hundred: Vec<u64> = (1..=100).rev().collect();
        check(&hundred, [Some(50), Some(95), Some(99), Some(51), Some(100)]);
    }

    #[test]
    fn long_latencies_keep_five_digits() {
        check(&[99_999], [Some(99_999); 5]);
        check(&[123_000], [Some(123_000); 5]);
        check(&[1_234_567], [Some(1_234_567); 5]);
        check(
            &[1_234_567, 9_000_000],
            [Some(1_234_600), Some(9_000_000), Some(9_000_000), Some(5_117_284), Some(9_000_000)],
        );
        check(&[u64::MAX], [Some(u64::MAX); 5]);
    }

    proptest! {
        #[test]
        fn they_agree_with_the_sorted_list(mut all in proptest::collection::vec(0u64..100_000, 1..200), percent in 1u8..=100) {
            let mut latencies = Latencies::default();
            all.iter().for_each(|&us| latencies.add(us));
            all.sort_unstable();
            let rank = (usize::from(percent) * all.len()).div_ceil(100);
            prop_assert_eq!(latencies.percentile(percent), Some(all[rank - 1]));
        }

        #[test]
        fn rounding_is_small_and_orderly(a in any::<u64>(), b in any::<u64>()) {
            let error = five_digits(a).abs_diff(a);
            prop_assert!(u128::from(error) * 20_000 <= u128::from(a));
            prop_assert!(a > b || five_digits(a) <= five_digits(b));
        }

        #[test]
        fn merging_is_adding_all(a in proptest::collection::vec(any::<u64>(), 0..20), b in proptest::collection::vec(any::<u64>(), 0..20)) {
            let of = |list: &[u64]| {
                let mut latencies = Latencies::default();
                list.iter().for_each(|&us| latencies.add(us));
                latencies
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
