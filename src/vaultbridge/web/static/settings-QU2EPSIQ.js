import{h as t,k as e,r as o}from"./chunk-6D2VLWLS.js";function i(r){return o("Settings"),t(e,{icon:"settings",title:"Settings"})}export{i as default};
