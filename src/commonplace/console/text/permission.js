// Who decides a request for permission, and until when. Pure; the words are the page's.

/**
 * What this person may do with a request. `decide`: their vote counts as far as the page can tell. `cancel`: a cancel says something that a refusal
 * does not, since others could decide, too.
 */
export function standing({ terms }, { subject, mayWrite }) {
  if (!mayWrite) return { decide: false, cancel: false };
  const voters = terms?.voters ?? [];
  const decide = voters.includes(subject) || (!voters.length && terms?.policy !== 'consensus');
  return { decide, cancel: !decide || voters.length > 1 || (terms && terms.policy !== 'designated') };
}

/** Who decides: the name of a text and what stands in it; null where nobody but this person is asked, whom `you` names. */
export function policyOf({ terms }, subject, you) {
  if (!terms) return null;
  const { policy, speaker, voters = [], quorum = 1 } = terms;
  if (policy === 'consensus') {
    const names = voters.map((voter) => (voter === subject ? you : voter)).join(', ');
    return voters.length === 1 && voters[0] === subject
      ? null
      : { name: 'consensus', values: { quorum, count: voters.length, voters: names } };
  }
  if (policy === 'designated' && speaker) return speaker === subject ? null : { name: 'designated', values: { speaker } };
  return { name: policy === 'local-only' ? 'local-only' : 'first-responder', values: {} };
}

/** The seconds that are left to decide it, 0 when it is over; null: it waits for ever. */
export function secondsLeft({ terms }, now) {
  if (!terms?.expires_at) return null;
  return Math.max(0, Math.ceil((Date.parse(terms.expires_at) - now) / 1000));
}

/** As a clock shows it: 4:05. */
export const countdown = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;

/** The requests among these sessions that wait for this person. */
export const waitingFor = (sessions, me) =>
  sessions.flatMap(({ permissions }) => permissions).filter((request) => standing(request, me).decide);
