import { Dialog } from '../ui/dialog.tsx';
import { CheckField } from '../ui/fields.tsx';
import { allKeys, areSingleKeysOff, isHelpOpen, switchSingleKeys } from './keys.ts';

const close = () => {
  isHelpOpen.value = false;
};

export function KeysHelp() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="sheet keys">
        <div>
          <dt>
            <kbd>Ctrl K</kbd>
          </dt>
          <dd>Search or do anything</dd>
        </div>
        {allKeys().map(({ keys, what }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <CheckField label="Single keys do nothing" value={areSingleKeysOff.value} onChange={switchSingleKeys} />
    </Dialog>
  );
}
