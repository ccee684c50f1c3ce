export default {
  'records': '此会话的全部记录',
  'count': (n, text) => `${text} 轮发言`,
  'none': '此会话中没有发言，或您的密钥无法访问。',
  'more': '继续阅读',
  'open': '打开 {speaker} 的发言',
  'key.next': '下一轮',
  'key.before': '上一轮',
};
