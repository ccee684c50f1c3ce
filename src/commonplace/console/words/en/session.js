export default {
  'records': 'All records of this session',
  'count': (n, text) => (n === 1 ? '1 turn' : `${text} turns`),
  'none': 'Nobody said anything in this session, or your key does not reach it.',
  'more': 'Go on reading',
  'open': 'Open what {speaker} said',
  'key.next': 'Next turn',
  'key.before': 'Previous turn',
};
