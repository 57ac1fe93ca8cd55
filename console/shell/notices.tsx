import { notices, unsay } from '../data/notices.ts';
import { Button } from '../ui/button.tsx';

export const Notices = () => (
  <div class="notices" role="log" aria-live="polite" aria-label="What was done">
    {notices.value.map(({ id, text, tone }) => (
      <div key={id} class={`notice ${tone}`}>
        <span>{text}</span>
        <Button kind="quiet" small label="Close" onPress={() => unsay(id)}>
          ×
        </Button>
      </div>
    ))}
  </div>
);
