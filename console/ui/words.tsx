/** A sentence of the contract: what stands between backticks is code. */
export const Words = ({ text }: { text: string }) => (
  <>{text.split('`').map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>
);
