<<<<<<<< HEAD:src/vaultbridge/web/static/settings-GZXDJWNV.js
import{k as t,n as e,v as o}from"./chunk-53CAZLUS.js";import"./chunk-OOJM4CTU.js";function i(r){return o("Settings"),t(e,{icon:"settings",title:"Settings"})}export{i as default};
========
import{j as t,m as e,u as o}from"./chunk-TLG6UIWH.js";import"./chunk-OOJM4CTU.js";function i(r){return o("Settings"),t(e,{icon:"settings",title:"Settings"})}export{i as default};
>>>>>>>> c12004b (Let no note claim lines that are not its own):src/vaultbridge/web/static/settings-GADMV2XW.js
