//! Selects rules by code, name, family or severity, as in `--deny` and `--allow`.

use super::rule::{Family, Rule, Severity};
use super::rules;

/// A selector as the user wrote it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RuleSelector {
    /// One rule, by code or name.
    Rule(&'static Rule),
    /// Every rule of a family.
    Family(Family),
    /// Every rule of a severity.
    Severity(Severity),
    /// Every rule of the catalog.
    All,
}

impl RuleSelector {
    /// Parses `M003`, `id-null`, `messages` (or `M`), `warnings` or `all`.
    pub fn parse(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        let family = |family: &Family| {
            family.name() == lower || word.eq_ignore_ascii_case(&family.letter().to_string())
        };
        match lower.as_str() {
            "all" => return Some(RuleSelector::All),
            "error" | "errors" => return Some(RuleSelector::Severity(Severity::Error)),
            "warning" | "warnings" => return Some(RuleSelector::Severity(Severity::Warning)),
            "info" | "infos" => return Some(RuleSelector::Severity(Severity::Info)),
            _ => {}
        }
        // Rules before families: no name is both, but a rule's is the more specific.
        rules::find(&lower)
            .map(RuleSelector::Rule)
            .or_else(|| Family::ALL.into_iter().find(family).map(RuleSelector::Family))
    }

    /// Whether it selects a rule.
    pub fn includes(self, rule: &Rule) -> bool {
        match self {
            RuleSelector::Rule(one) => *one == *rule,
            RuleSelector::Family(family) => rule.family == family,
            RuleSelector::Severity(severity) => rule.severity == severity,
            RuleSelector::All => true,
        }
    }

    /// How specific it is, from 0. A more specific selector wins over a less specific one.
    pub fn closeness(self) -> u8 {
        match self {
            RuleSelector::All => 0,
            RuleSelector::Severity(_) => 1,
            RuleSelector::Family(_) => 2,
            RuleSelector::Rule(_) => 3,
        }
    }
}

/// How the findings of a rule are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The rule is not checked.
    Allow,
    /// Its findings are reported.
    Report,
    /// Its findings are reported, and the command fails.
    Deny,
}

/// The selectors of `--deny` and `--allow`.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Rules that make the command fail, besides errors.
    pub deny: Vec<RuleSelector>,
    /// Rules that are not checked.
    pub allow: Vec<RuleSelector>,
}

impl Selection {
    /// The level of a rule. The most specific selector wins; of two equally specific ones, deny wins.
    pub fn level(&self, rule: &Rule) -> Level {
        let closest = |selectors: &[RuleSelector]| {
            selectors.iter().filter(|one| one.includes(rule)).map(|one| one.closeness()).max()
        };
        match (closest(&self.deny), closest(&self.allow)) {
            (Some(deny), Some(allow)) if deny >= allow => Level::Deny,
            (_, Some(_)) => Level::Allow,
            (Some(_), None) => Level::Deny,
            (None, None) if rule.severity == Severity::Error => Level::Deny,
            (None, None) => Level::Report,
        }
    }

    /// The rules to check.
    pub fn rules(&self) -> Vec<&'static Rule> {
        rules::ALL.iter().copied().filter(|rule| self.level(rule) != Level::Allow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(deny: &[&str], allow: &[&str], rule: &str, expected: Level) {
        let all = |words: &[&str]| words.iter().map(|word| RuleSelector::parse(word).unwrap()).collect();
        let selection = Selection { deny: all(deny), allow: all(allow) };
        assert_eq!(selection.level(rules::find(rule).unwrap()), expected, "{deny:?} {allow:?} {rule}");
    }

    #[test]
    fn what_names_a_rule_most_closely_wins() {
        check(&[], &[], "id-null", Level::Deny);
        check(&[], &[], "duplicate-key", Level::Report);
        check(&["warnings"], &[], "duplicate-key", Level::Deny);
        check(&["all"], &["M024"], "duplicate-key", Level::Allow);
        check(&["m024"], &["messages"], "duplicate-key", Level::Deny);
        check(&["M"], &["all"], "id-null", Level::Deny);
        check(&[], &["errors"], "id-null", Level::Allow);
        check(&["all"], &["all"], "method-name", Level::Deny);
        assert_eq!(RuleSelector::parse("nothing"), None);
    }
}
