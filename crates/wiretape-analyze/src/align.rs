//! Aligns two sequences, so that one inserted entry does not shift every later row of a diff.
//!
//! Entries are compared by [`Key`]s. Of all order-preserving alignments, the best one pairs the most equal entries, then
//! the most entries of the same kind, then the most with equal ties. Finding it needs a table of n × m cells, so there are
//! two stages: up to `MAX_CELLS` cells the table decides; longer sequences are first split at equal entries by Myers'
//! linear-space algorithm, bounded by `MAX_COST`, and the table decides within each piece.
//!
//! The bounds are what gives the module its shape: both sequences come from traces, which may be hostile. Such input gets
//! a worse alignment, never a slow one. Nothing is random, so the same input always gets the same alignment.

use std::collections::HashSet;
use std::ops::Range;

/// The hashes by which an entry is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Equal for entries that are equal.
    pub exact: u64,
    /// Equal for entries of which one may be a changed version of the other.
    pub kind: u64,
    /// Breaks ties: of several possible partners, one with an equal tie is preferred.
    pub tie: u64,
}

/// A row of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// An entry of each sequence; they are equal or of one kind.
    Both(usize, usize),
    /// An entry of the first that the second lacks.
    First(usize),
    /// An entry of the second that the first lacks.
    Second(usize),
}

/// Cells of the exact alignment's table: one byte each, so at most 4 MB.
const MAX_CELLS: usize = 4_000_000;
/// Differences that Myers' search follows before it splits at the furthest point reached. Bounds the time per split.
const MAX_COST: usize = 512;

/// Aligns two sequences. Every entry of both is in exactly one row, in order.
pub fn align(first: &[Key], second: &[Key]) -> Vec<Row> {
    let mut pairs = Vec::new();
    // Pairing equal ends first loses nothing, because no alignment scores more for these entries. Ties must be equal,
    // too: otherwise a better partner may come later. Two runs of one test differ in a few calls, so the table that
    // remains is small.
    let is_equal = |i: usize, j: usize| first[i].exact == second[j].exact && first[i].tie == second[j].tie;
    let (head, tail) = common_ends(first.len(), second.len(), is_equal);
    pairs.extend((0..head).map(|at| (at, at)));
    let middle = Gap { first: head..first.len() - tail, second: head..second.len() - tail };
    if middle.cells() <= MAX_CELLS {
        pairs.extend(best(first, second, &middle));
    } else {
        let anchors = middle.anchors(first, second, |key| key.exact);
        for gap in middle.between(&anchors) {
            pairs.extend(fill(first, second, &gap));
            // Each gap but the last ends at an anchor; the last ends behind both sequences, where no anchor can be.
            let end = (gap.first.end, gap.second.end);
            pairs.extend(anchors.binary_search(&end).ok().map(|at| anchors[at]));
        }
    }
    pairs.extend((0..tail).rev().map(|back| (first.len() - 1 - back, second.len() - 1 - back)));
    rows(first.len(), second.len(), &pairs)
}

/// Pairs within a gap between anchors: equal entries are used up or were not found.
fn fill(first: &[Key], second: &[Key], gap: &Gap) -> Vec<(usize, usize)> {
    if gap.cells() <= MAX_CELLS {
        best(first, second, gap)
    } else {
        gap.anchors(first, second, |key| key.kind)
    }
}

/// The lengths of the common prefix and, in the rest, of the common suffix.
fn common_ends(n: usize, m: usize, equal: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let least = n.min(m);
    let head = (0..least).take_while(|&at| equal(at, at)).count();
    let tail = (0..least - head).take_while(|&back| equal(n - 1 - back, m - 1 - back)).count();
    (head, tail)
}

fn rows(n: usize, m: usize, pairs: &[(usize, usize)]) -> Vec<Row> {
    let mut rows = Vec::with_capacity(n + m - pairs.len());
    let (mut i, mut j) = (0, 0);
    // The pair behind the end emits what remains after the last real pair.
    for &(to_i, to_j) in pairs.iter().chain([&(n, m)]) {
        rows.extend((i..to_i).map(Row::First));
        rows.extend((j..to_j).map(Row::Second));
        if to_i < n {
            rows.push(Row::Both(to_i, to_j));
        }
        (i, j) = (to_i + 1, to_j + 1);
    }
    rows
}

/// A range of each sequence.
#[derive(Debug, Clone)]
struct Gap {
    first: Range<usize>,
    second: Range<usize>,
}

impl Gap {
    fn cells(&self) -> usize {
        self.first.len().saturating_mul(self.second.len())
    }

    /// The gaps before, between and after pairs.
    fn between(&self, pairs: &[(usize, usize)]) -> Vec<Gap> {
        let mut gaps = Vec::with_capacity(pairs.len() + 1);
        let (mut i, mut j) = (self.first.start, self.second.start);
        for &(to_i, to_j) in pairs {
            gaps.push(Gap { first: i..to_i, second: j..to_j });
            (i, j) = (to_i + 1, to_j + 1);
        }
        gaps.push(Gap { first: i..self.first.end, second: j..self.second.end });
        gaps
    }

    /// Pairs of entries with the same hash, as many as can be found in bounded time.
    fn anchors(&self, first: &[Key], second: &[Key], print: impl Fn(&Key) -> u64) -> Vec<(usize, usize)> {
        // Entries without a counterpart can't be paired; dropping them first keeps the search within MAX_COST
        // for most real traces.
        let prints = |keys: &[Key]| keys.iter().map(&print).collect::<HashSet<u64>>();
        let (ours, theirs) = (prints(&first[self.first.clone()]), prints(&second[self.second.clone()]));
        let kept = |keys: &[Key], range: &Range<usize>, other: &HashSet<u64>| {
            let kept = range.clone().filter(|&at| other.contains(&print(&keys[at])));
            kept.collect::<Vec<usize>>()
        };
        let (i, j) = (kept(first, &self.first, &theirs), kept(second, &self.second, &ours));
        let a: Vec<u64> = i.iter().map(|&at| print(&first[at])).collect();
        let b: Vec<u64> = j.iter().map(|&at| print(&second[at])).collect();
        longest_common(&a, &b).into_iter().map(|(x, y)| (i[x], j[y])).collect()
    }
}

/// The best pairs within a gap, by dynamic programming over all cells.
fn best(first: &[Key], second: &[Key], gap: &Gap) -> Vec<(usize, usize)> {
    let (a, b) = (&first[gap.first.clone()], &second[gap.second.clone()]);
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    // Only one row of scores is kept, but every step: scores are eight bytes, steps one, and the path back
    // needs steps alone.
    let mut below = vec![0u64; b.len() + 1];
    let mut steps = vec![Step::SkipFirst; a.len() * b.len()];
    // From the end to the start, so that the path is afterwards followed forwards and pairs come out in order.
    // Pairing wins over skipping at equal scores, and skipping the first over the second: that alone makes the result
    // deterministic.
    for (i, one) in a.iter().enumerate().rev() {
        let mut diagonal = below[b.len()];
        for (j, other) in b.iter().enumerate().rev() {
            let paired = worth(one, other).map(|worth| diagonal + worth);
            diagonal = below[j];
            let (skip_first, skip_second) = (below[j], below[j + 1]);
            let (value, step) = match paired {
                Some(paired) if paired >= skip_first && paired >= skip_second => (paired, Step::Pair),
                _ if skip_first >= skip_second => (skip_first, Step::SkipFirst),
                _ => (skip_second, Step::SkipSecond),
            };
            below[j] = value;
            steps[i * b.len() + j] = step;
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match steps[i * b.len() + j] {
            Step::Pair => {
                pairs.push((gap.first.start + i, gap.second.start + j));
                (i, j) = (i + 1, j + 1);
            }
            Step::SkipFirst => i += 1,
            Step::SkipSecond => j += 1,
        }
    }
    pairs
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Pair,
    SkipFirst,
    SkipSecond,
}

/// The score of a pair; `None` if the two can't be paired. At most 2,000 pairs fit into a table of [`MAX_CELLS`], so each
/// criterion gets 14 bits, and no number of lower-ranked matches can outweigh a higher-ranked one.
fn worth(one: &Key, other: &Key) -> Option<u64> {
    let tie = u64::from(one.tie == other.tie);
    if one.exact == other.exact {
        Some(1 << 42 | tie << 14)
    } else if one.kind == other.kind {
        Some(1 << 28 | tie)
    } else {
        None
    }
}

/// A pending piece of the search. An explicit stack, because recursion depth would be up to the input's length.
enum Work {
    Box(Range<usize>, Range<usize>),
    Run(usize, usize, usize),
}

/// A longest common subsequence, or a long one where finding the longest would take too much time.
fn longest_common(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut search = Search::new(a.len().max(b.len()));
    let mut work = vec![Work::Box(0..a.len(), 0..b.len())];
    while let Some(next) = work.pop() {
        let (x, y) = match next {
            Work::Run(x, y, len) => {
                found.extend((0..len).map(|at| (x + at, y + at)));
                continue;
            }
            Work::Box(x, y) => (x, y),
        };
        let (sub_a, sub_b) = (&a[x.clone()], &b[y.clone()]);
        let (head, tail) = common_ends(x.len(), y.len(), |i, j| sub_a[i] == sub_b[j]);
        found.extend((0..head).map(|at| (x.start + at, y.start + at)));
        // A stack pops in reverse, so the suffix is pushed before the middle, and the right half before the left:
        // `found` stays sorted without a final sort.
        work.push(Work::Run(x.end - tail, y.end - tail, tail));
        let (x, y) = (x.start + head..x.end - tail, y.start + head..y.end - tail);
        if x.is_empty() || y.is_empty() {
            continue;
        }
        let (cut_x, cut_y) = search.cut(&a[x.clone()], &b[y.clone()]);
        let (cut_x, cut_y) = (x.start + cut_x, y.start + cut_y);
        work.push(Work::Box(cut_x..x.end, cut_y..y.end));
        work.push(Work::Box(x.start..cut_x, y.start..cut_y));
    }
    found
}

/// Finds the point where two sequences without common prefix and suffix are best split.
struct Search {
    /// The furthest x reached on each diagonal: from the start, and from the end.
    forward: Vec<i64>,
    backward: Vec<i64>,
    middle: i64,
}

/// Marks a diagonal that was not reached. Half of the minimum, so that adding to it can't overflow.
const NOWHERE: i64 = i64::MIN / 2;

impl Search {
    fn new(longest: usize) -> Self {
        // The two more are for `extend`, which reads both neighbors of the outermost diagonal.
        let reach = (longest + 1).min(MAX_COST) + 2;
        Search {
            forward: vec![NOWHERE; 2 * reach + 1],
            backward: vec![NOWHERE; 2 * reach + 1],
            middle: reach as i64,
        }
    }

    /// A point on a shortest edit path; after [`MAX_COST`] differences, the furthest point reached. It is never the start
    /// or the end, so each split makes progress.
    fn cut(&mut self, a: &[u64], b: &[u64]) -> (usize, usize) {
        let (n, m) = (a.len() as i64, b.len() as i64);
        self.forward.fill(NOWHERE);
        self.backward.fill(NOWHERE);
        let delta = n - m;
        let equal_forward = |x: i64, y: i64| a[x as usize] == b[y as usize];
        let equal_backward = |x: i64, y: i64| a[(n - 1 - x) as usize] == b[(m - 1 - y) as usize];
        // Myers (1986), section 4b: both searches advance in step, and the paths overlap in the middle snake.
        for cost in 0..MAX_COST as i64 {
            for k in (-cost..=cost).step_by(2) {
                let Some((from, to)) = extend(&mut self.forward, self.middle, cost, k, (n, m), equal_forward)
                else {
                    continue;
                };
                let other = delta - k;
                // The lengths of both paths add up to the total cost, which has the parity of `delta`. So the paths
                // can first meet while the forward path advances if `delta` is odd, and while the backward path
                // advances if it is even.
                if delta % 2 != 0
                    && other.abs() < cost
                    && to + self.backward[(self.middle + other) as usize] >= n
                {
                    return point(from, k);
                }
            }
            for k in (-cost..=cost).step_by(2) {
                let Some((_, to)) = extend(&mut self.backward, self.middle, cost, k, (n, m), equal_backward)
                else {
                    continue;
                };
                let other = delta - k;
                if delta % 2 == 0
                    && other.abs() <= cost
                    && to + self.forward[(self.middle + other) as usize] >= n
                {
                    return point(n - to, other);
                }
            }
        }
        self.furthest(MAX_COST as i64 - 1)
    }

    /// The forward point with the largest x + y.
    fn furthest(&self, cost: i64) -> (usize, usize) {
        let reached = (-cost..=cost).map(|k| (self.forward[(self.middle + k) as usize], k));
        let best = reached.filter(|(x, _)| *x >= 0).max_by_key(|(x, k)| (2 * x - k, *k));
        let (x, k) = best.expect("diagonal 0 is reached at cost 0, so one entry is not NOWHERE");
        point(x, k)
    }
}

fn point(x: i64, k: i64) -> (usize, usize) {
    (x as usize, (x - k) as usize)
}

/// Extends diagonal `k` by one difference and then along equal entries. Returns where that run started and ended.
fn extend(
    reached: &mut [i64],
    middle: i64,
    cost: i64,
    k: i64,
    (n, m): (i64, i64),
    equal: impl Fn(i64, i64) -> bool,
) -> Option<(i64, i64)> {
    let at = (middle + k) as usize;
    let from = if cost == 0 {
        0
    } else {
        let right = reached[at - 1] + 1;
        let down = reached[at + 1];
        let right = if right <= n { right } else { NOWHERE };
        let down = if down - k <= m { down } else { NOWHERE };
        right.max(down)
    };
    // Outside of the box: the diagonal can't be continued, and neighbors must not continue from it.
    if from < 0 || from - k < 0 || from - k > m {
        reached[at] = NOWHERE;
        return None;
    }
    let mut to = from;
    while to < n && to - k < m && equal(to, to - k) {
        to += 1;
    }
    reached[at] = to;
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Letters are kinds; upper and lower case are of one kind but not equal.
    fn keys(text: &str) -> Vec<Key> {
        let key = |c: char| Key { exact: c as u64, kind: c.to_ascii_lowercase() as u64, tie: 0 };
        text.chars().map(key).collect()
    }

    fn told(first: &str, second: &str) -> String {
        let (a, b): (Vec<char>, Vec<char>) = (first.chars().collect(), second.chars().collect());
        let tell = |row: &Row| match *row {
            Row::Both(i, j) if a[i] == b[j] => format!("{}", a[i]),
            Row::Both(i, j) => format!("{}>{}", a[i], b[j]),
            Row::First(i) => format!("-{}", a[i]),
            Row::Second(j) => format!("+{}", b[j]),
        };
        align(&keys(first), &keys(second)).iter().map(tell).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_inserted_entry_shifts_nothing() {
        let check = |first, second, expected| assert_eq!(told(first, second), expected, "{first} {second}");
        check("", "", "");
        check("abc", "abc", "a b c");
        check("abc", "abxc", "a b +x c");
        check("abc", "ac", "a -b c");
        check("abc", "aBc", "a b>B c");
        check("abc", "axc", "a -b +x c");
        check("abb", "aBbb", "a +B b b");
        check("aab", "Aab", "a>A a b");
        check("abcd", "bcda", "-a b c d +a");
    }

    #[test]
    fn ties_decide() {
        let key = |exact, tie| Key { exact, kind: 0, tie };
        let rows = align(&[key(1, 1), key(1, 2)], &[key(1, 2)]);
        assert_eq!(rows, [Row::First(0), Row::Both(1, 0)]);
    }

    fn counts(rows: &[Row], a: &[Key], b: &[Key]) -> [usize; 4] {
        let mut counts = [0; 4];
        for row in rows {
            match *row {
                Row::Both(i, j) if a[i].exact == b[j].exact => counts[0] += 1,
                Row::Both(..) => counts[1] += 1,
                Row::First(_) => counts[2] += 1,
                Row::Second(_) => counts[3] += 1,
            }
        }
        counts
    }

    /// Every entry is in exactly one row, and both sides are in order.
    fn check_whole(rows: &[Row], n: usize, m: usize) {
        let first = rows.iter().filter_map(|row| match row {
            Row::Both(i, _) | Row::First(i) => Some(*i),
            Row::Second(_) => None,
        });
        let second = rows.iter().filter_map(|row| match row {
            Row::Both(_, j) | Row::Second(j) => Some(*j),
            Row::First(_) => None,
        });
        assert!(first.eq(0..n) && second.eq(0..m));
    }

    fn repeated(n: usize, salt: u64) -> Vec<Key> {
        let key = |at: u64| {
            let exact = crate::fingerprint::combine(at, salt) % 7;
            Key { exact, kind: exact % 2, tie: 0 }
        };
        (0..n as u64).map(key).collect()
    }

    #[test]
    fn long_sequences_are_done_in_time() {
        let same: Vec<Key> = (0..100_000).map(|at| Key { exact: at, kind: 0, tie: 0 }).collect();
        let mut other = same.clone();
        other.insert(50, Key { exact: 1 << 40, kind: 1, tie: 0 });
        other.remove(90_000);
        let rows = align(&same, &other);
        assert_eq!(counts(&rows, &same, &other), [99_999, 0, 1, 1]);
        let all_other: Vec<Key> =
            same.iter().map(|key| Key { exact: key.exact + (1 << 40), ..*key }).collect();
        assert_eq!(counts(&align(&same, &all_other), &same, &all_other), [0, 100_000, 0, 0]);
        let reversed: Vec<Key> = same.iter().rev().copied().collect();
        check_whole(&align(&same, &reversed), 100_000, 100_000);
        let (a, b) = (repeated(20_000, 1), repeated(20_000, 2));
        let rows = align(&a, &b);
        check_whole(&rows, 20_000, 20_000);
        assert!(counts(&rows, &a, &b)[0] > 6_000, "{:?}", counts(&rows, &a, &b));
    }

    /// The length of a longest common subsequence, by the book.
    fn longest(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_both_ways_count_the_same(a in "[abAB]{0,12}", b in "[abAB]{0,12}") {
            let (a, b) = (keys(&a), keys(&b));
            let (there, back) = (align(&a, &b), align(&b, &a));
            check_whole(&there, a.len(), b.len());
            let [same, changed, removed, added] = counts(&there, &a, &b);
            prop_assert_eq!(counts(&back, &b, &a), [same, changed, added, removed]);
            prop_assert_eq!(counts(&align(&a, &a), &a, &a), [a.len(), 0, 0, 0]);
        }

        #[test]
        fn cuts_lose_nothing_of_the_longest(
            a in proptest::collection::vec(0u64..4, 0..40),
            b in proptest::collection::vec(0u64..4, 0..40),
        ) {
            let found = longest_common(&a, &b);
            prop_assert!(found.iter().all(|&(x, y)| a[x] == b[y]));
            prop_assert!(found.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert_eq!(found.len(), longest(&a, &b));
        }
    }
}
