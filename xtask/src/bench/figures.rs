//! Medians, and the formatting of figures.

/// One figure per round for each subject.
pub(super) struct Rounds<const SUBJECTS: usize> {
    rounds: Vec<[f64; SUBJECTS]>,
}

impl<const SUBJECTS: usize> Default for Rounds<SUBJECTS> {
    fn default() -> Self {
        Self { rounds: Vec::new() }
    }
}

impl<const SUBJECTS: usize> Rounds<SUBJECTS> {
    pub(super) fn push(&mut self, round: [f64; SUBJECTS]) {
        self.rounds.push(round);
    }

    /// The median over all rounds of a value computed by `of`. A ratio is computed within a round, where the machine
    /// was the same for all subjects.
    pub(super) fn median_of(&self, of: impl Fn([f64; SUBJECTS]) -> f64) -> f64 {
        median(self.rounds.iter().copied().map(of).collect())
    }

    /// The median of each subject.
    pub(super) fn medians(&self) -> [f64; SUBJECTS] {
        std::array::from_fn(|subject| self.median_of(|round| round[subject]))
    }

    /// The maximum of each subject.
    pub(super) fn highest(&self) -> [f64; SUBJECTS] {
        std::array::from_fn(|subject| {
            self.rounds.iter().map(|round| round[subject]).reduce(f64::max).unwrap_or(f64::NAN)
        })
    }
}

/// Formats each figure with `shown`.
pub(super) fn show_all<const SUBJECTS: usize>(
    figures: [f64; SUBJECTS],
    shown: impl Fn(f64) -> String,
) -> Vec<String> {
    figures.map(shown).into()
}

/// The middle figure, or the mean of the two in the middle. Panics without figures.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    assert!(!figures.is_empty(), "every measurement takes at least one figure");
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len().is_multiple_of(2) {
        f64::midpoint(figures[middle - 1], figures[middle])
    } else {
        figures[middle]
    }
}

pub(super) fn microseconds(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}

pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

pub(super) fn thousands_per_second(rate: f64) -> String {
    format!("{:.0}k/s", rate / 1e3)
}

pub(super) fn tenths_of_thousands_per_second(rate: f64) -> String {
    format!("{:.1}k/s", rate / 1e3)
}

pub(super) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

pub(super) fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut rounds = Rounds::default();
        rounds.push([1.0, 2.0, 3.0]);
        rounds.push([10.0, 20.0, 30.0]);
        assert_eq!(rounds.median_of(|[direct, floor, recorder]| (recorder - direct) / (floor - direct)), 2.0);
    }
}
