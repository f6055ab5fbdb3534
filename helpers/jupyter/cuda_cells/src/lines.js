// Which lines of a cell its outputs name.

const COMPILER = /\bkernel\.cu:(\d+): (?:catastrophic )?(error|warning)/g; // kernel.cu:4: error: expected a ";"
// line 4; line 4, 9 (but of "line 4, 32 bytes" only 4); lines 4, 9 and 12
const SENTENCE = /\bline (\d+(?:, \d+(?=[,.;:)\n]|$))*)|\blines (\d+(?:, \d+)*(?:,? and \d+)?)/gi;
const REFUSED = /^✘/; // how a verdict begins that is not a right answer

const joined = text => (Array.isArray(text) ? text.join('') : String(text ?? ''));

/** What an output says as plain text, whatever else it has. */
function plain(output) {
  return joined(output.output_type === 'stream' ? output.text : output.data?.['text/plain']);
}

/** Line → "error" or "warning", for the outputs of a cell as nbformat has them. A compiler's place always counts, a
 * sentence's only in a verdict that refuses the answer. */
export function namedLines(outputs) {
  const found = new Map();
  const add = (line, severity) => {
    if (found.get(line) !== 'error') {
      found.set(line, severity);
    }
  };
  for (const text of outputs.map(plain)) {
    for (const [, line, severity] of text.matchAll(COMPILER)) {
      add(Number(line), severity);
    }
    if (REFUSED.test(text)) {
      for (const [, one, several] of text.matchAll(SENTENCE)) {
        (one ?? several).match(/\d+/g).forEach(line => add(Number(line), 'error'));
      }
    }
  }
  return found;
}
