//! Requests that take several round trips: the server returns its questions as a result, and the client repeats the
//! request with the answers. The server keeps no state in between; the client carries it, sealed.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses, RequestStateCodec,
    SealOptions,
};

use crate::catalog::Rounds;

/// The answers and the state that a client sent with a request.
pub(crate) struct Retry {
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
    pub(crate) capabilities: ClientCapabilities,
}

/// The progress of a request in rounds.
pub(crate) enum Round {
    Ask(InputRequiredResult),
    /// All questions are answered; a summary of the answers.
    Done(String),
}

/// Signs states, so that only this process can create one.
#[derive(Clone)]
pub(crate) struct Seal(RequestStateCodec);

impl Seal {
    pub(crate) fn new() -> Self {
        Self(RequestStateCodec::new(*b"a key for tests, known to anyone"))
    }

    /// The next round of `rounds`, which belong to the tool or prompt of this name.
    pub(crate) fn advance(&self, name: &str, rounds: &Rounds, retry: &Retry) -> Result<Round, ErrorData> {
        let current = self.round_in(name, retry)?;
        let Some(questions) = rounds.rounds.get(current) else {
            return Err(bad_state());
        };
        let answered = retry.responses.as_ref().is_some_and(|responses| answers_all(responses, questions));
        let next = if answered { current + 1 } else { current };
        match rounds.rounds.get(next) {
            Some(questions) => {
                let state = rounds.keeps_state.then(|| self.state(name, next)).transpose()?;
                let asked = those_that_client_can_answer(questions, &retry.capabilities)?;
                Ok(Round::Ask(InputRequiredResult::new(Some(asked), state)))
            }
            None => Ok(Round::Done(summary(rounds, retry))),
        }
    }

    fn state(&self, name: &str, round: usize) -> Result<String, ErrorData> {
        let options = SealOptions::new().associated_data(name.as_bytes());
        let sealed = self.0.seal_json_with(&round, &options);
        sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    fn round_in(&self, name: &str, retry: &Retry) -> Result<usize, ErrorData> {
        let Some(state) = &retry.state else { return Ok(0) };
        self.0.open_json_with(state, name.as_bytes()).map_err(|_| bad_state())
    }
}

fn bad_state() -> ErrorData {
    ErrorData::invalid_params("requestState is not one of ours", None)
}

/// Ignores answers to questions that were not asked.
fn answers_all(responses: &InputResponses, questions: &InputRequests) -> bool {
    questions.keys().all(|key| responses.get(key).is_some_and(serde_json::Value::is_object))
}

fn those_that_client_can_answer(
    questions: &InputRequests,
    capabilities: &ClientCapabilities,
) -> Result<InputRequests, ErrorData> {
    let mut asked = questions.clone();
    asked.retain(|_, question| match question {
        InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
        InputRequest::Elicitation(_) => capabilities.elicitation.is_some(),
        InputRequest::ListRoots(_) => capabilities.roots.is_some(),
        _ => false,
    });
    if asked.is_empty() {
        let wanted = ClientCapabilities::builder().enable_elicitation().build();
        return Err(ErrorData::missing_required_client_capability(wanted));
    }
    Ok(asked)
}

fn summary(rounds: &Rounds, retry: &Retry) -> String {
    let answers = serde_json::to_string(&retry.responses)
        .expect("a JSON value has only string keys, so it can be serialized");
    let state = if rounds.keeps_state { "state-ok, " } else { "" };
    format!("{state}answers: {answers}")
}
