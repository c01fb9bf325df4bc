//! Rules as users name them: by code, by name, by family, by severity, or all.

use super::rule::{Family, Rule, Severity};
use super::rules;

/// What a user named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RuleSelector {
    /// One rule.
    Rule(&'static Rule),
    /// A family.
    Family(Family),
    /// A severity.
    Severity(Severity),
    /// All of them.
    All,
}

impl RuleSelector {
    /// What is meant by a word: `M003`, `id-null`, `messages` (or `M`), `warnings`, `all`.
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
        rules::find(&lower)
            .map(RuleSelector::Rule)
            .or_else(|| Family::ALL.into_iter().find(family).map(RuleSelector::Family))
    }

    /// Whether a rule is meant.
    pub fn includes(self, rule: &Rule) -> bool {
        match self {
            RuleSelector::Rule(one) => *one == *rule,
            RuleSelector::Family(family) => rule.family == family,
            RuleSelector::Severity(severity) => rule.severity == severity,
            RuleSelector::All => true,
        }
    }

    /// How closely it names rules: what names more closely wins.
    pub fn closeness(self) -> u8 {
        match self {
            RuleSelector::All => 0,
            RuleSelector::Severity(_) => 1,
            RuleSelector::Family(_) => 2,
            RuleSelector::Rule(_) => 3,
        }
    }
}

/// What becomes of a rule's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// They are not looked for.
    Allow,
    /// They are told.
    Tell,
    /// They are told, and the command fails.
    Deny,
}

/// What a user denies and allows.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// What makes the command fail, beside errors.
    pub deny: Vec<RuleSelector>,
    /// What is not looked for.
    pub allow: Vec<RuleSelector>,
}

impl Selection {
    /// What becomes of a rule's findings. What names the rule most closely wins; of two that name it as closely, to deny.
    pub fn level(&self, rule: &Rule) -> Level {
        let closest = |selectors: &[RuleSelector]| {
            selectors.iter().filter(|one| one.includes(rule)).map(|one| one.closeness()).max()
        };
        match (closest(&self.deny), closest(&self.allow)) {
            (Some(deny), Some(allow)) if deny >= allow => Level::Deny,
            (_, Some(_)) => Level::Allow,
            (Some(_), None) => Level::Deny,
            (None, None) if rule.severity == Severity::Error => Level::Deny,
            (None, None) => Level::Tell,
        }
    }

    /// The rules that are looked for.
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
        check(&[], &[], "duplicate-key", Level::Tell);
        check(&["warnings"], &[], "duplicate-key", Level::Deny);
        check(&["all"], &["M024"], "duplicate-key", Level::Allow);
        check(&["m024"], &["messages"], "duplicate-key", Level::Deny);
        check(&["M"], &["all"], "id-null", Level::Deny);
        check(&[], &["errors"], "id-null", Level::Allow);
        check(&["all"], &["all"], "method-name", Level::Deny);
        assert_eq!(RuleSelector::parse("nothing"), None);
    }
}
